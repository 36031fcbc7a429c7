"""Paired benchmarks: ``make bench``.

`diffusion` runs the demo's two stencils beside the same schemes in C (`kernels.c`, built by `native`), Numba and NumPy,
all in one process and in turns (`measure`), and prints ratios. Nothing is compared with a number from another run.
"""
