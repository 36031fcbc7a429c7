def _larger(a, b):
    """The larger number; of two zeros the first, which NumPy does not promise."""
    larger = np.maximum(a, b)
    zeros = (larger == 0) & (a == b)
    return np.where(zeros, a, larger) if zeros.any() else larger
