r"""Two stencils that every atmospheric model has: horizontal and vertical diffusion.

Both read their fields along I (eastward), J (northward) and K (from the first level of the column to the last) and
leave it to the caller in which order those axes lie in memory. The element type ``"real"`` is chosen when a stencil
is made::

    from fieldstone import gtscript
    from fieldstone.demo import stencils

    diffuse = gtscript.stencil(
        backend="cpu_ifirst", definition=stencils.horizontal_diffusion, dtypes={"real": np.float32}
    )
    diffuse(phi, coefficient, phi_new)
"""

from __future__ import annotations

from fieldstone import gtscript
from fieldstone.gtscript import BACKWARD, FORWARD, IJ, PARALLEL, Field, K, computation, interval


@gtscript.function
def laplacian(phi):
    r"""Five-point Laplacian of `phi` on a grid of unit spacing.

    .. math:: \phi_{i+1,j} + \phi_{i-1,j} + \phi_{i,j+1} + \phi_{i,j-1} - 4\phi_{i,j}
    """
    return phi[1, 0, 0] + phi[-1, 0, 0] + phi[0, 1, 0] + phi[0, -1, 0] - 4.0 * phi


@gtscript.function
def limited(flux, gradient):
    """Flux without the part that runs up the gradient, which would make ripples beside a front (Xue, 2000)."""
    return 0.0 if flux * gradient > 0.0 else flux


def horizontal_diffusion(phi: Field["real"], coefficient: Field["real"], phi_new: Field["real"]):
    r"""Fourth-order horizontal diffusion with a monotonic flux limiter, as in COSMO.

    One explicit step of :math:`\partial_t \phi = -\alpha \nabla^4 \phi`, in flux form:

    .. math::

        \phi^{n+1}_{i,j} = \phi_{i,j} - \alpha_{i,j}
            \left(F_{i+1/2,j} - F_{i-1/2,j} + G_{i,j+1/2} - G_{i,j-1/2}\right)

    where :math:`F` and :math:`G` are the differences of the Laplacian between neighbours along I and J. A flux that
    points up the gradient of :math:`\phi` is set to zero, so that a front on a slope gets no ripples.

    Parameters
    ----------
    phi : Field
        Any quantity; read two points beyond the domain in I and in J.
    coefficient : Field
        Diffusion number :math:`\alpha` (dimensionless: diffusivity times time step over spacing to the fourth). The
        scheme is stable up to 1/32; 1/64 removes the wave of two grid spacings along both axes in one step.
    phi_new : Field
        The quantity one step later.

    References
    ----------
    M. Xue, High-order monotonic numerical diffusion and smoothing, Mon. Wea. Rev. 128 (2000), 2853-2864.
    G. Doms and M. Baldauf, A description of the nonhydrostatic regional COSMO model, part I: dynamics and numerics,
    Deutscher Wetterdienst (2018), section on computational mixing.
    """
    with computation(PARALLEL), interval(...):
        lap = laplacian(phi)
        flux_i = limited(lap[1, 0, 0] - lap, phi[1, 0, 0] - phi)
        flux_j = limited(lap[0, 1, 0] - lap, phi[0, 1, 0] - phi)
        phi_new = phi - coefficient * (flux_i - flux_i[-1, 0, 0] + flux_j - flux_j[0, -1, 0])


def vertical_diffusion(
    phi: Field["real"],
    level_height: Field[K, "real"],
    sigma: Field[K, "real"],
    surface_altitude: Field[IJ, "real"],
    phi_new: Field["real"],
    *,
    dt: "real",
    diffusivity: "real",
):
    r"""Implicit vertical diffusion on terrain-following levels, without flux through the top and the bottom.

    One backward Euler step of :math:`\partial_t \phi = \partial_z (\kappa\, \partial_z \phi)`. The levels lie at the
    heights :math:`z_{i,j,k} = a_k + b_k h_{i,j}` over terrain of altitude :math:`h`; they are as uneven as they are.
    With the layer around level :math:`k` reaching halfway to its neighbours,

    .. math::

        \Delta z_k \left(\phi^{n+1}_k - \phi^n_k\right) =
            g_{k+1/2} \left(\phi^{n+1}_{k+1} - \phi^{n+1}_k\right)
          - g_{k-1/2} \left(\phi^{n+1}_k - \phi^{n+1}_{k-1}\right),
        \quad g_{k+1/2} = \frac{\kappa\, \Delta t}{z_{k+1} - z_k}

    where the first term is absent on the last level and the second on the first, whose layers end as far beyond them.
    So :math:`\sum_k \phi_k \Delta z_k` is conserved, no value leaves the range of the old ones, and no step is too
    long. The tridiagonal system is solved by the Thomas algorithm: FORWARD elimination turns it into
    :math:`\phi^{n+1}_k = p_k + r_k \phi^{n+1}_{k+1}`, BACKWARD substitution evaluates that.

    Parameters
    ----------
    phi : Field
        Any quantity.
    level_height : Field[K]
        :math:`a`, height of the levels over flat ground (m), rising or falling with k; at least two levels.
    sigma : Field[K]
        :math:`b`, share of the terrain's altitude in the height of a level (dimensionless).
    surface_altitude : Field[IJ]
        :math:`h`, altitude of the terrain (m).
    phi_new : Field
        The quantity one step later.
    dt : real
        Time step :math:`\Delta t` (s).
    diffusivity : real
        Eddy diffusivity :math:`\kappa` (m2 s-1), not negative.

    References
    ----------
    W. H. Press et al., Numerical Recipes, 3rd ed. (2007), section 2.4, for the tridiagonal solve.
    """
    with computation(FORWARD):
        with interval(0, 1):
            gap = level_height[1] - level_height + (sigma[1] - sigma) * surface_altitude
            conductance = diffusivity * dt / gap
            layer = gap
            inverse = 1.0 / (layer + conductance)
            ratio = conductance * inverse
            partial = layer * phi * inverse
        with interval(1, -1):
            gap = level_height[1] - level_height + (sigma[1] - sigma) * surface_altitude
            conductance = diffusivity * dt / gap
            layer = 0.5 * (gap + gap[0, 0, -1])
            inverse = 1.0 / (layer + conductance + conductance[0, 0, -1] * (1.0 - ratio[0, 0, -1]))
            ratio = conductance * inverse
            partial = (layer * phi + conductance[0, 0, -1] * partial[0, 0, -1]) * inverse
        with interval(-1, None):
            layer = gap[0, 0, -1]
            inverse = 1.0 / (layer + conductance[0, 0, -1] * (1.0 - ratio[0, 0, -1]))
            partial = (layer * phi + conductance[0, 0, -1] * partial[0, 0, -1]) * inverse
    with computation(BACKWARD):
        with interval(-1, None):
            phi_new = partial
        with interval(0, -1):
            phi_new = partial + ratio * phi_new[0, 0, 1]
