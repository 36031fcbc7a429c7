class _Box(tuple):
    """Ranges (begin, end) along I, J, K; index 0 is the first point of the domain."""

    def __new__(cls, *ranges):
        return super().__new__(cls, ranges)

    def __add__(self, offset):
        return _Box(*((begin + step, end + step) for (begin, end), step in zip(self, offset, strict=True)))

    def cut(self, i, j):
        """The part inside of ranges along I and J, where None is an open end."""
        ranges = []
        for (begin, end), (first, last) in zip(self, (i, j, (None, None)), strict=True):
            begin = begin if first is None else max(begin, first)
            ranges.append((begin, max(begin, end if last is None else min(end, last))))
        if any(begin == end for begin, end in ranges[:2]):
            # Without a point there is nothing to read either, wherever the other range lies.
            ranges[:2] = [(begin, begin) for begin, _ in ranges[:2]]
        return _Box(*ranges)

    def inside(self, i, j):
        """Whether each point is inside of ranges along I and J."""
        part = self.cut(i, j)
        i, j = (np.arange(*own) for own in self[:2])
        (first_i, last_i), (first_j, last_j), _ = part
        inside_i, inside_j = (first_i <= i) & (i < last_i), (first_j <= j) & (j < last_j)
        return inside_i[:, None, None] & inside_j[None, :, None]


class _Field:
    """An array along some of I, J, K, read and written in boxes."""

    def __init__(self, array, origin, axes="IJK"):
        origin = iter(origin)
        self.array = array
        self.origin = [next(origin) if axis in axes else None for axis in "IJK"]

    @classmethod
    def zeros(cls, dtype, domain, extent, axes="IJK", data=()):
        along = [own for axis, *own in zip("IJK", domain, extent, strict=True) if axis in axes]
        shape = [lower + points + upper for points, (lower, upper) in along]
        return cls(np.zeros([*shape, *data], dtype), [lower for _, (lower, _) in along], axes)

    def __getitem__(self, box):
        """A view; axes that the array does not have are new ones of length one."""
        along = zip(self.origin, box, strict=True)
        return self.array[tuple(None if o is None else slice(o + begin, o + end) for o, (begin, end) in along)]

    def __setitem__(self, box, value):
        self[box][...] = value
