def _level(box):
    """The index of the level of every point of a box."""
    return np.arange(*box[2], dtype=np.int64).reshape(1, 1, -1)


def _index(field, box, levels, where, what):
    """Indices of the points of a box at levels of their own; `where` are the points that count."""
    origin, size = field.origin[2], field.array.shape[sum(o is not None for o in field.origin[:2])]
    levels = np.broadcast_to(levels, [end - begin for begin, end in box])
    outside = (levels < -origin) | (levels >= size - origin)
    if np.any(outside & where):
        raise IndexError(f"{what} is accessed at a level that its array does not have")
    along = [np.arange(*box[0]).reshape(-1, 1, 1), np.arange(*box[1]).reshape(1, -1, 1)]
    along.append(np.clip(levels, -origin, size - 1 - origin))
    return tuple(o + index for o, index in zip(field.origin, along, strict=True) if o is not None)


def _at(field, box, levels, where, what):
    """Values at the points of a box, each at a level of its own."""
    return field.array[_index(field, box, levels, where, what)]


def _put_at(field, box, levels, value, where, what, element=()):
    """Sets the points of a box, each at a level of its own; of data dimensions an element."""
    index = list(np.broadcast_arrays(*_index(field, box, levels, where, what)))
    where = np.broadcast_to(where, index[0].shape)
    index += [np.broadcast_to(n, where.shape) for n in element]
    field.array[tuple(along[where] for along in index)] = np.broadcast_to(value, where.shape)[where]
