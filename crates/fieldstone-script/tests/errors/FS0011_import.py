def copy(inp: Field[float], out: Field[float]):
    from math import pi

    with computation(PARALLEL), interval(...):
        import numpy as np

        out = inp
