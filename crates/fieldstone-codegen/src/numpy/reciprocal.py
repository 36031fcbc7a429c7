def _reciprocal(value):
    """One divided by an integer, towards zero; 0 for 0."""
    return np.where(np.abs(value) == 1, value, value.dtype.type(0))
