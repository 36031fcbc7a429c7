def _larger(a, b):
    """The larger number; of two zeros the positive one, which NumPy does not promise."""
    larger = np.maximum(a, b)
    zeros = (larger == 0) & (a == b)
    return np.where(zeros, a + b, larger) if zeros.any() else larger
