def nothing(inp: Field[float], out: Field[float]):
    """Compute nothing."""
