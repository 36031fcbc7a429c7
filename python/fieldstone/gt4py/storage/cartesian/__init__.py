"""``gt4py.storage.cartesian``: layouts, the table of them, and what allocates by it."""
