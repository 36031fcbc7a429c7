def _inside(index, size, where, what):
    """An index of a data dimension, the nearest one inside; `where` are the points that count."""
    if np.any(((index < 0) | (index >= size)) & where):
        raise IndexError(f"{what} is accessed at an index outside of a data dimension of {size} elements")
    return np.clip(index, 0, size - 1)
