"""Stencils full of `min` and `max`: NaN goes where it does in NumPy, also where machine code keeps it for nobody."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fieldstone import gtscript, storage

SPECIAL = (-np.inf, -2.0, -0.0, 0.0, 1.0, 3.0, np.inf, np.nan)

BODIES = {
    "monotonic slope": """
        mean = 0.25 * (c - a)
        above = max(max(a, b), c) - b
        below = b - min(min(a, b), c)
        size = min(min(abs(mean), above), below)
        out = size if mean > 0.0 else -size
    """,
    "what is taken off": """
        out = (max(a, b) - b) * (max(b, c) - c)
    """,
    "each relies on the other": """
        out = max(max(a, b), c) - min(min(a, b), c)
    """,
    "through temporaries": """
        t = max(a, b)
        s = t - a
        out = min(abs(b * 2.0) / (s * s + 1.0), c)
    """,
    "seen by a condition": """
        t = max(a, b)
        out = t - b if t > 0.0 else c
    """,
    "chosen": """
        out = (max(a, b) if c > 0.0 else 1.0) * b
    """,
    "chosen from": """
        out = max(a, b) * (b if c > 0.0 else 1.0)
    """,
    "behind a condition": """
        out = 0.0
        if c > 0.0:
            t = max(min(a, c), b)
            out = t / b
        else:
            t = min(max(a, c), b) - c
            out = t + b
    """,
    "changed between": """
        out = b
        t = max(a, out)
        out = 1.0
        out = min(t - out, c)
    """,
    "in a loop": """
        t = a
        n = 0
        while n < 2:
            s = max(t, b)
            t = s - b
            n += 1
        out = t if c > 0.0 else -t
    """,
    "at most one of three": """
        out = max(min(a, b) - b, min(c, b)) + sqrt(abs(min(b, c) * c))
    """,
    "kept by a function": """
        out = b ** 0.0 + max(a, b) if c > 0.0 else c
    """,
}

# Whose arrays a backend is given.
LAYOUTS = dict.fromkeys(("debug", "numpy", "cpu_kfirst"), "cpu_kfirst") | dict.fromkeys(
    ("cpu_ifirst", "gpu"), "cpu_ifirst"
)

DEFINITION = """
def definition(a: Field["T"], b: Field["T"], c: Field["T"], out: Field["T"]):
    with computation(PARALLEL), interval(...):
{body}
"""


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("body", BODIES)
def test_nan_goes_where_it_goes_in_numpy(from_text, body, dtype, axis):
    """With all combinations of special values along an axis, so that any are in one vector."""
    combinations = np.random.default_rng(5).permutation(list(itertools.product(SPECIAL, repeat=3)))
    shape = [2, 2, 2]
    shape[axis] = len(combinations) // 4
    a, b, c = (np.ascontiguousarray(values.reshape(shape), dtype) for values in combinations.T)
    definition = from_text(DEFINITION.format(body=BODIES[body]))
    expected = computed("debug", definition, dtype, (a, b, c))
    for backend in ("numpy", "cpu_kfirst", "cpu_ifirst", "gpu"):
        found = computed(backend, definition, dtype, (a, b, c))
        assert np.array_equal(found, expected, equal_nan=True), backend
        numbers = ~np.isnan(expected)
        assert np.array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers])), backend


def computed(backend, definition, dtype, fields):
    """The results of a stencil on fields that lie in memory as its backend prefers."""
    fields = [storage.storage(field, defaults=LAYOUTS[backend]) for field in fields]
    out = np.zeros_like(fields[0])
    gtscript.stencil(backend, definition, dtypes={"T": dtype})(*fields, out)
    return np.asarray(out)
