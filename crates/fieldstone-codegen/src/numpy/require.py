def _require(condition, what, *bounds):
    """Bounds of intervals that contradict neither the domain nor each other."""
    if not np.all(condition):
        columns = [np.broadcast_to(bound, np.shape(condition))[~condition] for bound in bounds]
        levels = [int(of_columns.flat[0]) for of_columns in columns]
        both = [f"from level {start} to before {end}" for start, end in zip(levels[::2], levels[1::2], strict=True)]
        raise ArithmeticError(f"{what}: {' and '.join(both)}")
