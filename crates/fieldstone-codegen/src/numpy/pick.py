def _pick(array, *indices):
    """The element of the data dimensions that is asked for at each point."""
    points = np.ogrid[tuple(slice(size) for size in array.shape[:3])]
    return array[tuple(points) + indices]
