def tabs(inp: Field[float], out: Field[float]):
	with computation(PARALLEL), interval(...):
		out = inp +	missing	+ other  # a	comment
