# Read under the condition of the assignment, or under one that follows from it: no warning.
def positive(f):
    if f > 0.0:
        root = sqrt(f)
    return root


def stencil(inp: Field[float], cloudy: Field[bool], wet: Field[bool], flag: int, out: Field[float]):
    with computation(PARALLEL), interval(...):
        if inp > 0.0:
            same = inp
        if inp > 0.0 and cloudy:
            out = same
        if not cloudy:
            both = 1.0
        if cloudy:
            both = 2.0
        out = both
        if cloudy:
            if wet:
                nested = 1.0
            else:
                nested = 2.0
        if cloudy:
            out = nested
        if flag > 0:
            everywhere = inp
        if flag > 0:
            out = everywhere[1, 0, 0]
    with computation(PARALLEL), interval(...):
        if cloudy:
            out = nested
    with computation(FORWARD):
        with interval(0, 1):
            if flag > 0:
                carried = inp
        with interval(1, None):
            if flag > 0:
                carried = carried[0, 0, -1] + inp
                out = carried
    # From here on there is one for each.
    with computation(PARALLEL), interval(...):
        out = both + same
        if cloudy:
            out = nested[1, 0, 0]
    with computation(PARALLEL), interval(...):
        cloudy = wet
        if cloudy:
            fresh = 1.0
        cloudy = inp > 0.0
        if cloudy:
            out = fresh + positive(inp) + positive(out)
    with computation(FORWARD):
        with interval(0, 1):
            if wet:
                lower = inp
        with interval(1, None):
            if wet:
                lower = lower[0, 0, -1] + inp
                out = lower
