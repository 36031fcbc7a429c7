def _pick(array, *indices):
    """The element of the data dimensions that is asked for at each point; the nearest one for an index outside."""
    points = np.ogrid[tuple(slice(size) for size in array.shape[:3])]
    indices = [np.clip(index, 0, size - 1) for index, size in zip(indices, array.shape[3:], strict=True)]
    return array[tuple(points) + tuple(indices)]
