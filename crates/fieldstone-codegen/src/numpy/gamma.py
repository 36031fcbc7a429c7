def _gamma(value):
    """The gamma function; infinite at zero and where it overflows, NaN at the other poles."""

    def gamma(x):
        try:
            return math.gamma(x)
        except OverflowError:
            return math.copysign(math.inf, x)
        except ValueError:
            return math.copysign(math.inf, x) if x == 0 else math.nan

    return np.vectorize(gamma, otypes=[np.float64])(value).astype(value.dtype)
