# dtypes: real = float32


def laplacian(phi):
    return phi[1, 0, 0] + phi[-1, 0, 0] + phi[0, 1, 0] + phi[0, -1, 0] - 4.0 * phi


def limited(flux, gradient):
    return 0.0 if flux * gradient > 0.0 else flux


def diffusion(phi: Field["real"], coefficient: Field["real"], phi_new: Field["real"]):
    with computation(PARALLEL), interval(...):
        lap = laplacian(phi)
        flux_i = limited(lap[1, 0, 0] - lap, phi[1, 0, 0] - phi)
        flux_j = limited(lap[0, 1, 0] - lap, phi[0, 1, 0] - phi)
        phi_new = phi - coefficient * (flux_i - flux_i[-1, 0, 0] + flux_j - flux_j[0, -1, 0])
