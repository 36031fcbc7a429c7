"""Benchmarks that print ratios measured in one process: ``make bench``.

`cases` has the benchmark stencils, each with the same scheme for other packages; `contenders` calls them, `suite` lets
them take turns (`turns`) on one grid after another, of those that `selection` has; `figures` draws what came out.
`calls` takes a call apart, `compile` the way from a definition to its first result, `memory` says what all that leaves
behind. `storages` makes, copies and views storages beside NumPy's arrays and beside the C library (`bandwidth`), in
rounds (`paired`). Nothing is compared with a number from another run.
"""
