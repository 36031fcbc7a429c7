def copy(inp: Field[complex128], out: Field[float], dt: str):
    with computation(PARALLEL), interval(...):
        first: out = 2.0 * inp
        second: float32 = 2.0
        second: float64 = 3.0
        third: "real" = 1.0
        out = first + second
