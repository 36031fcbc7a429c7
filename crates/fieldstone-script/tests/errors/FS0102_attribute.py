class constants:
    gravity = 9.81
    earth_radius = 6371e3


def weight(mass: Field[float], dt: float, out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = mass * constants.gravty
        out = mass * dt.units + mass.name
