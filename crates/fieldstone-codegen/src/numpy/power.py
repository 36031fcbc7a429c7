def _power(base, exponent):
    """A small integer power, by repeated squaring."""
    power, square, bits = None, base, abs(exponent)
    while bits:
        if bits & 1:
            power = square if power is None else power * square
        bits >>= 1
        if bits:
            square = square * square
    if power is None:
        power = np.ones_like(base)
    if exponent >= 0:
        return power
    return _reciprocal(power) if power.dtype.kind in "iu" else power.dtype.type(1) / power
