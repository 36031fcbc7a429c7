"""Benchmarks that print ratios measured in one process: ``make bench``.

`diffusion` runs the demo's two stencils beside the same schemes in C (`kernels.c`, called by `native`), Numba and
NumPy, in turns (`measure`). `storages` makes, copies and views storages beside NumPy's arrays and beside the C library
(`bandwidth`), in rounds (`paired`). Nothing is compared with a number from another run.
"""
