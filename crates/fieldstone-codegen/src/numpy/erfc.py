def _erfc(value):
    """The complementary error function."""
    return np.vectorize(math.erfc, otypes=[np.float64])(value).astype(value.dtype)
