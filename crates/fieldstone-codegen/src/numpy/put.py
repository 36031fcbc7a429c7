def _put(array, indices, value, where=True):
    """Set the element of the data dimensions that is asked for at each point."""
    shape = np.broadcast_shapes(array.shape[:3], *(np.shape(part) for part in (*indices, value, where)))
    where = np.broadcast_to(where, shape)
    points = np.ogrid[tuple(slice(size) for size in array.shape[:3])]
    at = tuple(np.broadcast_to(index, shape)[where] for index in (*points, *indices))
    array[at] = np.broadcast_to(value, shape)[where]
