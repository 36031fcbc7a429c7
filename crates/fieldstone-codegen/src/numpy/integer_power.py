def _integer_power(base, exponent):
    """A power of integers that wraps around; negative exponents divide one by the power."""
    unsigned = base.dtype.str.replace("i", "u")
    power = np.power(base.astype(unsigned), np.abs(exponent).astype(unsigned)).astype(base.dtype)
    return np.where(exponent < 0, _reciprocal(power), power)
