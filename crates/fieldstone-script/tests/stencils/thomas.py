def thomas(a: Field[float], b: Field[float], c: Field[float], d: Field[float], x: Field[float]):
    with computation(FORWARD):
        with interval(0, 1):
            ratio = c / b
            partial = d / b
        with interval(1, None):
            pivot = b - a * ratio[0, 0, -1]
            ratio = c / pivot
            partial = (d - a * partial[0, 0, -1]) / pivot
    with computation(BACKWARD):
        with interval(-1, None):
            x = partial
        with interval(0, -1):
            x = partial - ratio * x[0, 0, 1]
