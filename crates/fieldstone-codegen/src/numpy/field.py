class _Box(tuple):
    """Ranges (begin, end) along I, J, K; index 0 is the first point of the domain."""

    def __new__(cls, *ranges):
        return super().__new__(cls, ranges)

    def __add__(self, offset):
        return _Box(*((begin + step, end + step) for (begin, end), step in zip(self, offset, strict=True)))


class _Field:
    """An array along some of I, J, K, read and written in boxes."""

    def __init__(self, array, origin, axes="IJK"):
        origin = iter(origin)
        self.array = array
        self.origin = [next(origin) if axis in axes else None for axis in "IJK"]

    @classmethod
    def zeros(cls, dtype, domain, extent):
        shape = [lower + points + upper for points, (lower, upper) in zip(domain, extent, strict=True)]
        return cls(np.zeros(shape, dtype), [lower for lower, _ in extent])

    def __getitem__(self, box):
        """A view; axes that the array does not have are new ones of length one."""
        along = zip(self.origin, box, strict=True)
        return self.array[tuple(None if o is None else slice(o + begin, o + end) for o, (begin, end) in along)]

    def __setitem__(self, box, value):
        self[box][...] = value
