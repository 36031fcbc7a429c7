def _integer(value, dtype):
    """Real numbers to integers: towards zero, saturating; 0 for NaN."""
    limits = np.iinfo(dtype)
    low, high = value.dtype.type(limits.min), value.dtype.type(limits.max)
    # `high` may have been rounded up to a number that does not fit any more.
    inside = (value > low) & (value < high)
    result = np.where(inside, value, 0).astype(dtype)
    result = np.where(value >= high, dtype(limits.max), result)
    return np.where(value <= low, dtype(limits.min), result)
