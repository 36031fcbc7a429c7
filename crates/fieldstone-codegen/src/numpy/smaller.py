def _smaller(a, b):
    """The smaller number; of two zeros the first, which NumPy does not promise."""
    smaller = np.minimum(a, b)
    zeros = (smaller == 0) & (a == b)
    return np.where(zeros, a, smaller) if zeros.any() else smaller
