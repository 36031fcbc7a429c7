def größe(θ):
    return θ[1, 0, 0] + mittel + (
        θ[0, 1, 0]
        + θ[0, 1]
    )


def 温度(温: Field[float], Δt: float, out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = größe(温) + 温[1, 0] + (
            Δt[0,
               0]
        )
        out = größe(温,
                    温,
                    out,
                    out,
                    Δt,
                    out)
