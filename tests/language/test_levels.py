"""Levels that are computed: offsets along K at run time, `at(K=…)`, `K` as a value, writes to other levels."""

from __future__ import annotations

import numpy as np
import pytest

from fieldstone import errors, gtscript
from fieldstone.gtscript import BACKWARD, FORWARD, IJ, PARALLEL, Field, K, computation, interval

BACKENDS = ("debug", "numpy", "cpu_kfirst", "cpu_ifirst")


def take(array, levels):
    return np.take_along_axis(array, levels, axis=2)


def coefficients(inp: Field["real"], out: Field["real"], half: Field["int64"]):
    with computation(PARALLEL):
        with interval(0, 2):
            out = inp * K
            half = K // 2
        with interval(2, None):
            out = inp + K
            half = K - 1 if inp > 0.0 else -K


def test_k_is_the_index_of_the_level_in_the_domain(check):
    def reference(f):
        k = np.arange(f.inp.shape[2]).astype(f.inp.dtype)
        f.out[...] = np.where(k < 2, f.inp * k, f.inp + k)
        k = k.astype(int) + 0 * f.half
        f.half[...] = np.where(k < 2, k // 2, np.where(f.inp > 0, k - 1, -k))

    check(coefficients, reference)


def test_k_is_an_integer_of_64_bits():
    def index(out: Field["float32"]):
        with computation(PARALLEL), interval(...):
            out = K / 3

    stencil = gtscript.stencil("numpy", index)
    assert "astype(np.float32)" in stencil.inspect("numpy")


@gtscript.function
def difference(f):
    return f[0, 0, 1] - f


def of_an_argument(out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = difference(K * K)


def test_k_moves_with_an_offset(check):
    def reference(f):
        k = np.arange(f.out.shape[2])
        f.out[...] = (k + 1) ** 2 - k**2

    check(of_an_argument, reference)


def by_a_field(inp: Field["real"], index: Field["int32"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = inp[0, 0, index] + inp[1, -1, index - 1] + inp[K + 1 - index]


def below(rng, shape, dtype, domain):
    return rng.integers(-1, 2, shape).astype(dtype)


def test_an_offset_is_a_value_at_the_point(check):
    def reference(f):
        k = np.arange(f.inp.shape[2]) + f.index
        whole = f.arrays["inp"]
        i, j, base = f.origins["inp"]
        ni, nj, nk = f.domain
        here, there = whole[i : i + ni, j : j + nj], whole[i + 1 : i + 1 + ni, j - 1 : j - 1 + nj]
        own = np.arange(nk) + np.zeros_like(f.index)
        f.out[...] = take(here, base + k) + take(there, base + k - 1) + take(here, base + own + 1 - f.index)

    check(by_a_field, reference, fields={"index": below})


def by_a_scalar(inp: Field["real"], profile: Field[K, "real"], out: Field["real"], step: int):
    with computation(PARALLEL), interval(...):
        out = inp[0, 0, step] + profile[step - 1] * inp[1, 0, -step]


def test_an_offset_is_a_number_of_the_call(check):
    def reference(f, step):
        f.out[...] = f.at("inp", 0, 0, step) + f.at("profile", step - 1) * f.at("inp", 1, 0, -step)

    check(by_a_scalar, reference, scalars=lambda rng, domain: {"step": int(rng.integers(-1, 2))})


def absolute(inp: Field["real"], profile: Field[K, "real"], index: Field[IJ, "int64"], out: Field["real"], n: int):
    with computation(PARALLEL), interval(...):
        out = inp.at(K=0) + inp.at(K=index) * profile.at(K=n) - inp.at(K=K // 2) + inp.at(K=-1)


def test_absolute_levels_count_from_the_first_level_of_the_domain(check):
    def reference(f, n):
        nk = f.domain[2]
        i, j, base = f.origins["inp"]
        columns = f.arrays["inp"][i : i + f.domain[0], j : j + f.domain[1], base:]
        below = f.arrays["inp"][i : i + f.domain[0], j : j + f.domain[1], base - 1]
        levels = np.arange(nk)[None, None, :] + 0 * f.index[:, :, None]
        f.out[...] = (
            columns[:, :, :1]
            + take(columns, f.index[:, :, None]) * f.profile[n]
            - take(columns, levels // 2)
            + below[:, :, None]
        )

    check(absolute, reference, scalars=lambda rng, domain: {"n": int(rng.integers(0, domain[2]))})


def of_a_temporary(inp: Field["real"], index: Field["int32"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        square = inp * inp
        deep = inp[1, 0, 0] + inp[-1, 0, 0]
    with computation(PARALLEL), interval(...):
        out = square[0, 0, index - K] + deep[1, 0, index - K] + square.at(K=0)


def test_temporaries_have_the_levels_of_the_domain(check):
    def reference(f):
        levels = f.index.astype(int)
        square = f.inp * f.inp
        deep = f.at("inp", 2, 0, 0) + f.inp
        f.out[...] = take(square, levels) + take(deep, levels) + square[:, :, :1]

    check(of_a_temporary, reference)


def remap(inp: Field["real"], source: Field["real"], target: Field["real"], out: Field["real"]):
    with computation(FORWARD):
        with interval(0, 1):
            lev = 0
        with interval(1, None):
            lev = lev[0, 0, -1]
            while lev < 20 and source[0, 0, lev - K] < target:
                lev = lev + 1
    with computation(PARALLEL), interval(...):
        out = inp.at(K=lev)


def rising(rng, shape, dtype, domain):
    return np.cumsum(rng.uniform(0.5, 1.5, shape), axis=2).astype(dtype)


def test_vertical_remapping(check):
    """The level of the source at or above each level of the target, searched upwards from that of the level below."""

    def last(rng, shape, dtype, domain):
        values = rising(rng, shape, dtype, domain)
        return values * 0.5 + values[:, :, :1] * 0.5

    def reference(f):
        i, j, base = f.origins["source"]
        source = f.arrays["source"][i : i + f.domain[0], j : j + f.domain[1], base:]
        k0 = f.origins["inp"]
        inp = f.arrays["inp"][k0[0] : k0[0] + f.domain[0], k0[1] : k0[1] + f.domain[1], k0[2] :]
        lev = np.zeros(f.domain[:2], int)
        for k in range(f.domain[2]):
            if k:
                while (active := take(source, lev[:, :, None])[:, :, 0] < f.target[:, :, k]).any():
                    lev[active] += 1
            f.out[:, :, k] = take(inp, lev[:, :, None])[:, :, 0]

    check(remap, reference, fields={"source": rising, "target": last})


def looks_back(inp: Field["real"], index: Field["int32"], out: Field["real"]):
    with computation(FORWARD):
        with interval(0, 1):
            out = inp
        with interval(1, None):
            out = inp + out[0, 0, max(index - K, -K)] if index < K else inp


def test_a_vertical_loop_reads_back_what_it_has_computed(check):
    def reference(f):
        for k in range(f.domain[2]):
            index = f.index[:, :, k].astype(int)
            back = take(f.out, np.minimum(index, max(k - 1, 0))[:, :, None])[:, :, 0]
            f.out[:, :, k] = np.where(index < k, f.inp[:, :, k] + back, f.inp[:, :, k])

    check(looks_back, reference)


def ahead(inp: Field["real"], out: Field["real"], total: Field["real"]):
    with computation(FORWARD):
        with interval(0, 1):
            out = inp
            total = 0.0
            out[0, 0, 1] = inp + 1.0
        with interval(1, -1):
            total = out
            out[0, 0, 1] = out + inp
        with interval(-1, None):
            total = out
            out = 0.0


def test_a_level_is_written_by_the_one_before(check):
    def reference(f):
        nk = f.domain[2]
        f.out[:, :, 0] = f.inp[:, :, 0]
        f.total[:, :, 0] = 0
        f.out[:, :, 1] = f.inp[:, :, 0] + f.inp.dtype.type(1)
        for k in range(1, nk - 1):
            f.total[:, :, k] = f.out[:, :, k]
            f.out[:, :, k + 1] = f.out[:, :, k] + f.inp[:, :, k]
        f.total[:, :, -1] = f.out[:, :, -1]
        f.out[:, :, -1] = 0

    check(ahead, reference)


def thomas(a: Field["real"], b: Field["real"], c: Field["real"], d: Field["real"], x: Field["real"]):
    with computation(FORWARD):
        with interval(0, 1):
            ratio = c / b
            partial = d / b
        with interval(1, None):
            ratio = c / (b - a * ratio[0, 0, -1])
            partial = (d - a * partial[0, 0, -1]) / (b - a * ratio[0, 0, -1])
    with computation(BACKWARD):
        with interval(-1, None):
            x = partial
            x[0, 0, -1] = partial[0, 0, -1] - ratio[0, 0, -1] * partial
        with interval(1, -1):
            x[0, 0, -1] = partial[0, 0, -1] - ratio[0, 0, -1] * x


def test_a_tridiagonal_solver_stores_at_an_offset(check):
    def dominant(rng, shape, dtype, domain):
        return rng.uniform(9, 12, shape).astype(dtype)

    def reference(f):
        nk = f.domain[2]
        ratio, partial = np.zeros_like(f.x), np.zeros_like(f.x)
        for k in range(nk):
            if k == 0:
                pivot, rest = f.b[:, :, 0], f.d[:, :, 0]
            else:
                pivot = f.b[:, :, k] - f.a[:, :, k] * ratio[:, :, k - 1]
                rest = f.d[:, :, k] - f.a[:, :, k] * partial[:, :, k - 1]
            ratio[:, :, k], partial[:, :, k] = f.c[:, :, k] / pivot, rest / pivot
        f.x[:, :, -1] = partial[:, :, -1]
        for k in range(nk - 2, -1, -1):
            f.x[:, :, k] = partial[:, :, k] - ratio[:, :, k] * f.x[:, :, k + 1]

    check(thomas, reference, fields={"b": dominant})


def scatter(inp: Field["real"], index: Field["int32"], out: Field["real"]):
    with computation(FORWARD), interval(...):
        if inp > 0.0:
            out[0, 0, index - K] = inp
        out[0, 0, index - K] += 1.0


def test_a_write_goes_to_a_level_that_is_computed(check):
    def reference(f):
        for k in range(f.domain[2]):
            index = f.index[:, :, k].astype(int)[:, :, None]
            value = np.where(f.inp[:, :, k] > 0, f.inp[:, :, k], take(f.out, index)[:, :, 0])
            np.put_along_axis(f.out, index, (value + f.out.dtype.type(1))[:, :, None], axis=2)

    check(scatter, reference)


def guarded(inp: Field["real"], index: Field["int32"], out: Field["real"], top: int):
    with computation(PARALLEL), interval(...):
        lev = 3 * index
        out = inp.at(K=lev) if lev < top else 0.0
        if lev < top and inp.at(K=lev) > 0.0:
            out = out + inp.at(K=lev)


def test_what_a_condition_excludes_is_not_read(check):
    def reference(f, top):
        levels = 3 * f.index.astype(int)
        values = take(f.inp, np.minimum(levels, f.domain[2] - 1))
        f.out[...] = np.where(levels < top, values, 0)
        f.out[...] += np.where((levels < top) & (values > 0), values, 0)

    check(guarded, reference, scalars=lambda rng, domain: {"top": domain[2]})


def elements(v: Field[("real", (3,))], index: Field["int32"], out: Field["real"], w: Field[("real", (3,))]):
    with computation(PARALLEL), interval(...):
        out = v.at(K=index, ddim=[1]) + v[0, 0, index - K][index % 3]
    with computation(FORWARD), interval(...):
        w[0, 0, index - K][index % 3] = out
        w[0, 0, index - K][0] += 1.0


def test_elements_of_vectors_at_levels_that_are_computed(check):
    def reference(f):
        index = f.index.astype(int)
        columns = take(f.v, index[..., None])
        f.out[...] = columns[..., 1] + np.take_along_axis(columns, (index % 3)[..., None], axis=3)[..., 0]
        for i, j in np.ndindex(index.shape[:2]):
            for k, level in enumerate(index[i, j]):
                f.w[i, j, level, level % 3] = f.out[i, j, k]
                f.w[i, j, level, 0] += 1

    check(elements, reference)


def too_far(inp: Field[float], index: Field[np.int64], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp[0, 0, index]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("far", [-4, 4, 10**12, -(2**63), 2**63 - 1])
def test_a_level_outside_of_the_array_is_an_error(backend, far):
    stencil = gtscript.stencil(backend, too_far)
    inp, out, index = np.ones((5, 4, 3)), np.zeros((5, 4, 3)), np.zeros((5, 4, 3), np.int64)
    stencil(inp, index, out)
    index[3, 2, 1] = far
    with pytest.raises(errors.OutOfBoundsError, match="`inp` is accessed at") as error:
        stencil(inp, index, out)
    assert f"test_levels.py:{too_far.__code__.co_firstlineno + 2}" in str(error.value)


def test_debug_says_at_which_point():
    index = np.zeros((5, 4, 3), np.int64)
    index[3, 2, 1] = 2
    with pytest.raises(errors.OutOfBoundsError, match=r"`inp` is accessed at \(3, 2, 3\)(.|\n)*K 0..3"):
        gtscript.stencil("debug", too_far)(np.ones((5, 4, 3)), index, np.zeros((5, 4, 3)))


def test_computed_levels_ask_for_no_halo():
    stencil = gtscript.stencil("numpy", too_far)
    assert stencil.field_info["inp"].boundary == ((0, 0), (0, 0), (0, 0))


def race(inp: Field[float], index: Field[int], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp
        inp = out[0, 0, index]


def parallel_write(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out[0, 0, 1] = inp


def real_index(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp[0, 0, out]


def no_level(inp: Field[IJ, float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp.at(K=0)


def positional(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp.at(0)


def outside(inp: Field[float], out: Field[float]):
    with computation(FORWARD), interval(...):
        tmp = inp
        tmp[0, 0, 1] = inp
        out = tmp


def other_axis(out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = I


@pytest.mark.parametrize(
    ("definition", "code", "words"),
    [
        (race, "FS0201", "`out` is read at another level of the parallel computation that writes it"),
        (parallel_write, "FS0411", "`out` is assigned at another level in a parallel computation"),
        (real_index, "FS0309", "a level or index must be an integer"),
        (no_level, "FS0205", "the field does not extend along K"),
        (positional, "FS0221", "`at` takes one level"),
        (outside, "FS0412", "`tmp` is assigned outside of the domain"),
        (other_axis, "FS0507", "the index along I is no value"),
    ],
)
def test_accesses_without_a_meaning_are_refused(definition, code, words):
    with pytest.raises(errors.GTScriptError, match=code) as error:
        gtscript.stencil("numpy", definition)
    assert words in str(error.value)
