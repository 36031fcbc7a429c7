def _round_away_from_zero(value):
    """To the nearest integer, ties away from zero."""
    whole = np.trunc(value)
    return np.where(np.abs(value - whole) >= 0.5, whole + np.copysign(value.dtype.type(1), value), whole)
