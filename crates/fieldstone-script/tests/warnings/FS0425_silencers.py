def stencil(inp: Field[float], a: Field[float], out: Field[float]):  # fieldstone: ignore[FS0420]
    with computation(PARALLEL), interval(...):
        if 1 == 2:  # noqa  # fieldstone: ignore[FS0420, FS0424]
            out = inp
        if 1 == 2:  # fieldstone: ignore
            out = inp
        # fieldstone: ignore[FS0424]
        if 1 == 2:
            out = inp
        out = (
            inp
            if 2  # fieldstone: ignore[FS0424]
            > 1
            else 1.0
        )
        # fieldstone: ignore[FS424, FS0101, everything]
        # fieldstone: ignroe[FS0424]
        # fieldstone: ignored
        out = inp
