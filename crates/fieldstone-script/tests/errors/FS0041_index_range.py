def tracers(inp: Field[(float, (3,))], matrix: Field[(float, (2, 3))], out: Field[(float, (3,))]):
    with computation(PARALLEL), interval(...):
        out = inp[0, 0, 0][3] + matrix[0, 0, 0][1, -1] + matrix.A[2][0]
        out[0, 0, 0][-4] = 1.0
