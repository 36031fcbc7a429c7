def products(a: Field[(float, (128, 129))], v: Field[(float, (129,))], m: Field[(float, (65, 65))], w: Field[(float, (65,))], out: Field[(float, (128,))], other: Field[(float, (65,))]):
    with computation(PARALLEL), interval(...):
        out = a @ v
        other = m @ w
    with computation(FORWARD), interval(1, None):
        other = m @ other[0, 0, -1] + w
