def _erf(value):
    """The error function."""
    return np.vectorize(math.erf, otypes=[np.float64])(value).astype(value.dtype)
