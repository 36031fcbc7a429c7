"""Calls of a stencil: where it runs, on what, and what it tells the arguments."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import xarray as xr

import fieldstone.storage
from fieldstone import errors, gtscript
from fieldstone._core import describe_field
from fieldstone.gtscript import BACKWARD, FORWARD, IJ, PARALLEL, Field, K, computation, interval
from fieldstone.gtscript.info import AccessKind
from fieldstone.gtscript.stencil_object import StencilObject

BACKENDS = ["debug", "numpy", "cpu_kfirst", "cpu_ifirst", "gpu"]
F64 = np.float64
Array = npt.NDArray[Any]


def copy_definition(in_field: Field[F64], out_field: Field[F64]):
    with computation(PARALLEL), interval(...):
        out_field = in_field


def laplacian_definition(inp: Field[F64], out: Field[F64], *, weight: F64 = 1.0):
    with computation(PARALLEL), interval(...):
        out = weight * (inp[1, 0, 0] + inp[-1, 0, 0] + inp[0, 1, 0] + inp[0, -1, 0] - 4.0 * inp)


def column_definition(inp: Field[F64], surface: Field[IJ, F64], levels: Field[K, F64], out: Field[F64]):
    with computation(FORWARD):
        with interval(0, 1):
            out = inp + surface
        with interval(1, None):
            out = out[0, 0, -1] + inp * levels


def laplacian_oracle(inp: Array) -> Array:
    return inp[2:, 1:-1] + inp[:-2, 1:-1] + inp[1:-1, 2:] + inp[1:-1, :-2] - 4.0 * inp[1:-1, 1:-1]


def column_oracle(inp: Array, surface: Array, levels: Array) -> Array:
    out = np.empty_like(inp)
    out[:, :, 0] = inp[:, :, 0] + surface
    for k in range(1, inp.shape[2]):
        out[:, :, k] = out[:, :, k - 1] + inp[:, :, k] * levels[k]
    return out


Stencils = Callable[..., StencilObject]


@pytest.fixture(scope="module")
def compiled() -> Stencils:
    """Compile each definition once per backend."""
    known: dict[Any, StencilObject] = {}

    def get(definition: Callable[..., None], backend: str = "debug", **options: Any) -> StencilObject:
        key = (definition, backend, *options.items())
        if key not in known:
            known[key] = gtscript.stencil(backend=backend, **options)(definition)
        return known[key]

    return get


def random(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).random(shape)


def in_order(array: Array, order: str) -> Array:
    """Lay an array out in memory with the last axis of ``order`` contiguous, indexed as before."""
    axes = ["IJK".index(axis) for axis in order]
    return np.ascontiguousarray(array.transpose(axes)).transpose(np.argsort(axes))


def strided(array: Array) -> Array:
    large = np.zeros([2 * n for n in array.shape])
    view = large[::2, ::2, ::2]
    view[...] = array
    return view


def backwards(array: Array) -> Array:
    return np.ascontiguousarray(array[::-1, ::-1, ::-1])[::-1, ::-1, ::-1]


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "JIK": lambda array: in_order(array, "JIK"),
    "IKJ": lambda array: in_order(array, "IKJ"),
    "strided": strided,
    "backwards": backwards,
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("other", ["C", "Fortran", "backwards"])
def test_any_layout_gives_the_same(compiled: Stencils, backend: str, layout: str, other: str) -> None:
    inp, out = LAYOUTS[layout](random(9, 8, 7)), LAYOUTS[other](np.full((9, 8, 7), 7.0))
    compiled(laplacian_definition, backend)(inp, out)
    expected = np.full((9, 8, 7), 7.0)
    compiled(laplacian_definition, "debug")(random(9, 8, 7), expected)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_allclose(out[1:-1, 1:-1], laplacian_oracle(inp), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("backend", BACKENDS)
def test_lower_dimensional_fields(compiled: Stencils, backend: str) -> None:
    inp, surface, levels, out = random(6, 5, 4), random(6, 5), random(4), np.zeros((6, 5, 4))
    compiled(column_definition, backend)(inp, surface, levels, out)
    np.testing.assert_array_equal(out, column_oracle(inp, surface, levels))


# Storages -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dims", ["IJK", "JIK", "KJI"])
@pytest.mark.parametrize("preset", ["cpu_kfirst", "cpu_ifirst", "F"])
def test_storages_run_inside_their_halo(compiled: Stencils, backend: str, dims: str, preset: str) -> None:
    axes = ["IJK".index(axis) for axis in dims]
    halo = [((1, 1), (2, 1), (0, 0))[axis] for axis in axes]
    values = random(8, 9, 4)
    inp = fieldstone.storage.storage(values.transpose(axes), dims=dims, halo=halo, defaults=preset)
    out = fieldstone.storage.zeros(values.transpose(axes).shape, dims=dims, halo=halo, defaults=preset)
    info: dict[str, Any] = {}
    compiled(laplacian_definition, backend)(inp, out, exec_info=info)
    assert info["origin"] == {"inp": (1, 2, 0), "out": (1, 2, 0)}
    assert info["domain"] == (6, 6, 4)
    result = np.asarray(out).transpose(np.argsort(axes))
    np.testing.assert_allclose(result[1:7, 2:8], laplacian_oracle(values)[:, 1:], rtol=1e-12, atol=1e-14)
    assert not result[[0, 7]].any()
    assert not result[:, [0, 1, 8]].any()


def test_storages_without_halo_or_dims(compiled: Stencils) -> None:
    values = random(5, 5, 5)
    inp, out = fieldstone.storage.storage(values), fieldstone.storage.zeros((5, 5, 5))
    compiled(laplacian_definition)(inp, out)
    np.testing.assert_allclose(np.asarray(out)[1:-1, 1:-1], laplacian_oracle(values), rtol=1e-12)
    assert describe_field(inp)["dtype"] == "float64"
    assert describe_field(inp)["dims"] is None


# The dims of xarray objects -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dims", ["IJK", "JIK", "KJI", "IKJ"])
@pytest.mark.parametrize("out_dims", ["IJK", "KJI"])
def test_data_arrays_in_any_order(compiled: Stencils, backend: str, dims: str, out_dims: str) -> None:
    inp = xr.DataArray(random(6, 5, 4), dims=("I", "J", "K"))
    surface = xr.DataArray(random(5, 6), dims=("J", "I"))
    levels = xr.DataArray(random(4), dims=("K",))
    out = xr.DataArray(np.zeros((6, 5, 4)), dims=("I", "J", "K"))
    turned = [array.transpose(*order).copy() for array, order in ((inp, dims), (out, out_dims))]
    compiled(column_definition, backend)(turned[0], surface, levels, turned[1])
    expected = column_oracle(inp.data, surface.data.T, levels.data)
    np.testing.assert_array_equal(turned[1].transpose("I", "J", "K"), expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_copy_stencil_of_the_notebook(compiled: Stencils, backend: str) -> None:
    in_field = np.arange(1.0, 9.0).reshape(2, 2, 2)
    copy_stencil = compiled(copy_definition, backend)
    out_field = np.zeros((2, 2, 2), dtype=np.float64)
    copy_stencil(in_field, out_field, origin=(0, 0, 0))
    np.testing.assert_array_equal(out_field, in_field)
    labelled = xr.DataArray(np.zeros((2, 2, 2), dtype=np.float64), dims=("J", "I", "K"))
    copy_stencil(in_field, labelled, origin=(0, 0, 0))
    np.testing.assert_array_equal(labelled.transpose("I", "J", "K"), in_field)


def test_dims_of_one_stencil() -> None:
    stencil = gtscript.stencil(backend="debug", dims={"lon": "I", "lat": "J", "lev": "K"})(copy_definition)
    inp = xr.DataArray(random(4, 3, 2), dims=("lev", "lat", "lon"))
    out = np.zeros((2, 3, 4))
    stencil(inp, out)
    np.testing.assert_array_equal(out, inp.data.T)
    with pytest.raises(errors.DimensionsError, match="'in_field' has the dims"):
        gtscript.stencil(backend="debug")(copy_definition)(inp, out)


# Origin and domain ----------------------------------------------------------------------------------------------------


class Labelled:
    """An array-like object that says more of itself."""

    def __init__(self, array: Array, **attributes: Any) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__
        self.__dict__.update(attributes)


def halo(array: Array, *pairs: tuple[int, int]) -> Any:
    return Labelled(array, __gt_data_interface__={None: {**array.__array_interface__, "halo": pairs}})


H = ((2, 1), (0, 0), (1, 1))


@pytest.mark.parametrize(
    ("make", "keywords", "origins", "domain"),
    [
        # Nothing is said: one origin for all, the smallest that the stencil can do with.
        ((None, None), {}, ((1, 1, 0), (1, 1, 0)), (6, 5, 6)),
        ((None, None), {"origin": (1, 2, 3)}, ((1, 2, 3), (1, 2, 3)), (6, 4, 3)),
        ((None, None), {"origin": [np.int64(1), np.int32(1), np.uint8(1)]}, ((1, 1, 1), (1, 1, 1)), (6, 5, 5)),
        ((None, None), {"origin": np.array([1, 1, 1])}, ((1, 1, 1), (1, 1, 1)), (6, 5, 5)),
        ((None, None), {"origin": {"out": (0, 0, 0)}}, ((1, 1, 0), (0, 0, 0)), (6, 5, 6)),
        ((None, None), {"origin": {"_all_": (2, 2, 2), "out": (0, 0, 0)}}, ((2, 2, 2), (0, 0, 0)), (5, 4, 4)),
        ((None, None), {"domain": (2, np.int64(3), 1)}, ((1, 1, 0), (1, 1, 0)), (2, 3, 1)),
        ((None, None), {"domain": [2, 0, 1]}, ((1, 1, 0), (1, 1, 0)), (2, 0, 1)),
        ((None, None), {"origin": (3, 3, 3), "domain": np.array([1, 1, 1])}, ((3, 3, 3), (3, 3, 3)), (1, 1, 1)),
        # The object says it.
        (({"default_origin": (2, 1, 1)}, None), {}, ((2, 1, 1), (0, 0, 0)), (5, 5, 5)),
        (({"__gt_origin__": lambda: (2, 1, 1)}, None), {}, ((2, 1, 1), (0, 0, 0)), (5, 5, 5)),
        (({"default_origin": (2, 1, 1)}, None), {"origin": (1, 1, 0)}, ((1, 1, 0), (1, 1, 0)), (6, 5, 6)),
        (({"default_origin": (2, 1, 1)}, None), {"origin": {"out": (3, 3, 3)}}, ((2, 1, 1), (3, 3, 3)), (5, 4, 3)),
        ((None, {"halo": H}), {}, ((1, 1, 0), (2, 0, 1)), (5, 5, 4)),
        ((None, {"halo": H, "default_origin": (0, 0, 0)}), {}, ((1, 1, 0), (0, 0, 0)), (6, 5, 5)),
        ((None, {"halo": H}), {"domain": (6, 5, 5)}, ((1, 1, 0), (2, 0, 1)), (6, 5, 5)),
    ],
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_origin_and_domain(
    compiled: Stencils, backend: str, make: Any, keywords: Any, origins: Any, domain: Any
) -> None:
    inp, out = random(8, 7, 6), np.full((8, 7, 6), 7.0)
    arguments = []
    for array, attributes in zip((inp, out), make, strict=True):
        if attributes is None:
            arguments.append(array)
            continue
        attributes = dict(attributes)
        if "halo" in attributes:
            interface = {**array.__array_interface__, "halo": attributes.pop("halo")}
            attributes["__gt_data_interface__"] = {None: interface}
        arguments.append(Labelled(array, **attributes))
    info: dict[str, Any] = {}
    compiled(laplacian_definition, backend)(*arguments, **keywords, exec_info=info)
    assert (info["origin"]["inp"], info["origin"]["out"]) == origins
    assert info["domain"] == domain
    expected = np.full((8, 7, 6), 7.0)
    box = tuple(slice(o, o + n) for o, n in zip(origins[1], domain, strict=True))
    reach = tuple(slice(o - r, o + n + r) for o, n, r in zip(origins[0], domain, (1, 1, 0), strict=True))
    if 0 not in domain:
        expected[box] = laplacian_oracle(inp[reach])
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-14)


def test_lower_dimensional_origins(compiled: Stencils) -> None:
    info: dict[str, Any] = {}
    arrays = random(6, 5, 4), random(6, 5), random(4), np.zeros((6, 5, 4))
    compiled(column_definition)(*arrays, origin=(1, 2, 3), exec_info=info)
    assert info["origin"] == {"inp": (1, 2, 3), "surface": (1, 2), "levels": (3,), "out": (1, 2, 3)}
    assert info["domain"] == (5, 3, 1)
    origin = {"surface": (3, 2), "levels": (1,), "_all_": (0, 0, 0)}
    compiled(column_definition)(*arrays, origin=origin, exec_info=info)
    assert info["origin"] == {"inp": (0, 0, 0), "surface": (3, 2), "levels": (1,), "out": (0, 0, 0)}
    assert info["domain"] == (3, 3, 3)


def ahead_definition(inp: Field[F64], out: Field[F64]):
    with computation(PARALLEL), interval(...):
        out = inp[1, 0, 0] + inp[2, 1, 0]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("order", "CF")
def test_the_origin_may_lie_before_the_first_point_where_only_points_behind_it_are_read(
    backend: str, order: Any
) -> None:
    stencil = gtscript.stencil(backend, ahead_definition)
    values = np.asarray(np.random.default_rng(3).random((6, 6, 4)), order=order)
    out = np.zeros((5, 5, 4))
    stencil(values, out, origin={"inp": (-1, 0, 0), "out": (0, 0, 0)}, domain=(5, 5, 4))
    assert (out == values[:5, :5] + values[1:6, 1:6]).all()
    with pytest.raises(errors.OriginError, match="its origin along I is -2"):
        stencil(values, out, origin={"inp": (-2, 0, 0), "out": (0, 0, 0)}, domain=(5, 5, 4))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", [(0, 3, 2), (3, 0, 2), (3, 2, 0)])
def test_an_empty_domain_does_nothing(compiled: Stencils, backend: str, shape: tuple[int, ...]) -> None:
    compiled(copy_definition, backend)(np.ones(shape), np.zeros(shape))
    out = np.zeros((3, 3, 3))
    compiled(copy_definition, backend)(np.ones((3, 3, 3)), out, domain=shape)
    assert not out.any()


# Arguments ------------------------------------------------------------------------------------------------------------


def test_arguments_by_position_and_name(compiled: Stencils) -> None:
    stencil = compiled(laplacian_definition)
    inp, out = random(4, 4, 4), np.zeros((4, 4, 4))
    stencil(inp, out)
    expected = out.copy()
    name = "".join(["i", "n", "p"])  # not the interned string
    for call in (
        lambda: stencil(inp=inp, out=out),
        lambda: stencil(inp, out=out),
        lambda: stencil(out=out, weight=1, inp=inp),
        lambda: stencil(**{name: inp, "out": out, "weight": np.float32(1)}),
        lambda: stencil(inp, out, weight=np.array(1.0)),
        lambda: stencil(inp, out, weight=True, origin=None, domain=None, exec_info=None),
        lambda: stencil(inp, out, validate_args=False),
        lambda: stencil.run(_domain_=(2, 2, 4), _origin_={"_all_": (1, 1, 0)}, inp=inp, out=out),
        lambda: stencil.run((2, 2, 4), (1, 1, 0), None, inp=inp, out=out, weight=1.0),
        lambda: stencil.freeze(origin={"inp": (1, 1, 0), "out": (1, 1, 0)}, domain=(2, 2, 4))(inp, out),
        lambda: stencil.freeze(origin=(1, 1, 0), domain=(2, 2, 4))(inp=inp, out=out),
    ):
        out[...] = 0
        call()
        np.testing.assert_array_equal(out, expected)


def scalars_definition(
    out: Field[F64], i8: np.int8, u16: np.uint16, i64: np.int64, f32: np.float32, flag: bool, f64: np.float64
):
    with computation(PARALLEL), interval(...):
        if flag:  # noqa: SIM108
            out = i8 + u16 + i64 + f64 + f32
        else:
            out = -1.0


@pytest.mark.parametrize("backend", BACKENDS)
def test_scalars_of_every_kind(compiled: Stencils, backend: str) -> None:
    out = np.zeros((2, 2, 2))
    stencil = compiled(scalars_definition, backend)
    stencil(out, -3, 60000, -(10**12), 0.1, True, 0.25)
    assert (out == float(-3 + 60000 - 10**12) + 0.25 + float(np.float32(0.1))).all()
    stencil(out, np.int64(-3), np.uint8(7), 0, np.float64(2), np.bool_(False), 1)
    assert (out == -1).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_types_may_be_given_by_their_names_in_numpy(backend: str) -> None:
    def shifted(inp: Field["uint8"], out: Field["int16"], *, by: "uint8", limit: "int8"):
        with computation(PARALLEL), interval(...):
            out = min(inp + by, limit)

    out = np.zeros((2, 1, 1), np.int16)
    gtscript.stencil(backend, shifted)(np.array([3, 250], np.uint8).reshape(2, 1, 1), out, by=4, limit=100)
    assert out.ravel().tolist() == [7, 100]


# The protocol ---------------------------------------------------------------------------------------------------------


class Told:
    """An array that records what it is told."""

    def __init__(self, name: str, log: list[str], fails: str = "", dims: tuple[str, ...] | None = None) -> None:
        self.array = np.zeros((4, 4, 4))
        self.name, self.log, self.fails, self.dims = name, log, fails, dims

    def tell(self, what: str) -> Callable[[], None]:
        def told() -> None:
            self.log.append(f"{what} {self.name}")
            if what == self.fails:
                raise RuntimeError(f"{what} {self.name} failed")

        return told

    @property
    def __gt_data_interface__(self) -> Any:
        hooks = {what: self.tell(what) for what in ("acquire", "touch", "release")}
        return {None: {**self.array.__array_interface__, **hooks, "dims": self.dims}}


ALL_OF_IT = ["acquire a", "acquire b", "touch b", "release a", "release b"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_order_of_the_protocol(compiled: Stencils, backend: str) -> None:
    log: list[str] = []
    a, b = Told("a", log), Told("b", log, dims=("K", "J", "I"))
    a.array[...] = random(4, 4, 4)
    compiled(copy_definition, backend)(a, b)
    assert log == ALL_OF_IT
    np.testing.assert_array_equal(b.array, a.array.T)


@pytest.mark.parametrize(
    ("fails", "expected"),
    [
        (("acquire", ""), ["acquire a"]),
        (("", "acquire"), ["acquire a", "acquire b", "release a"]),
        (("", "touch"), ALL_OF_IT),
        (("release", ""), ALL_OF_IT),
    ],
)
def test_the_protocol_when_a_part_of_it_fails(compiled: Stencils, fails: tuple[str, str], expected: list[str]) -> None:
    log: list[str] = []
    with pytest.raises(RuntimeError, match="failed"):
        compiled(copy_definition)(Told("a", log, fails[0]), Told("b", log, fails[1]))
    assert log == expected


def branch_definition(inp: Field[F64], out: Field[F64]):
    with computation(PARALLEL), interval(...):
        if inp > 0.0:
            value = inp
        out = value  # fieldstone: ignore[FS0423]


def test_the_protocol_when_the_run_fails(compiled: Stencils) -> None:
    log: list[str] = []
    with pytest.raises(errors.ExecutionError, match="`value` is read"):
        compiled(branch_definition)(Told("a", log), Told("b", log))
    # It may have written something before it failed.
    assert log == ALL_OF_IT


def test_what_fails_after_a_failure_is_noted_on_it(compiled: Stencils) -> None:
    log: list[str] = []
    with pytest.raises(errors.ExecutionError, match="`value` is read") as caught:
        compiled(branch_definition)(Told("a", log, "release"), Told("b", log, "touch"))
    assert log == ALL_OF_IT
    assert caught.value.__notes__ == [
        "afterwards, touch of argument 'out' failed as well: RuntimeError: touch b failed",
        "afterwards, release of argument 'inp' failed as well: RuntimeError: release a failed",
    ]


def test_nobody_is_told_of_a_call_that_is_refused(compiled: Stencils) -> None:
    log: list[str] = []
    with pytest.raises(errors.DomainError):
        compiled(copy_definition)(Told("a", log), Told("b", log), domain=(5, 5, 5))
    assert log == []


# Shared memory --------------------------------------------------------------------------------------------------------


def scale_definition(inp: Field[F64], out: Field[F64]):
    with computation(PARALLEL), interval(...):
        out = 2.0 * inp


def scale_twice_definition(inp: Field[F64], out: Field[F64], more: Field[F64]):
    with computation(PARALLEL), interval(...):
        out = 2.0 * inp
        more = 3.0 * inp


def smooth_definition(inp: Field[F64], out: Field[F64]):
    with computation(PARALLEL), interval(...):
        twice = 2.0 * inp
        out = twice[1, 0, 0] + twice


@pytest.mark.parametrize("backend", BACKENDS)
def test_safe_overlaps_run(compiled: Stencils, backend: str) -> None:
    scale = compiled(scale_definition, backend)
    data = random(6, 6, 6)
    expected = 2.0 * data
    array = data.copy()
    scale(array, array)
    np.testing.assert_array_equal(array, expected)
    array = data.copy()
    scale(array[1:], array[:3], domain=(2, 6, 6), origin={"inp": (2, 0, 0)})
    np.testing.assert_array_equal(array[:2], expected[3:5])
    np.testing.assert_array_equal(array[2:], data[2:])
    array = data.copy()
    scale(array[:, :, ::2], array[:, :, 1::2])
    np.testing.assert_array_equal(array[:, :, 1::2], expected[:, :, ::2])
    array, other = data.copy(), np.zeros((6, 6, 6))
    compiled(scale_twice_definition, backend)(array, other, array)
    np.testing.assert_array_equal(array, 3.0 * data)
    np.testing.assert_array_equal(other, expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", ["C", "Fortran", "JIK"])
def test_a_vertical_sum_runs_in_place(compiled: Stencils, backend: str, layout: str) -> None:
    data, surface, levels = random(7, 6, 5), random(7, 6), random(5)
    array = LAYOUTS[layout](data.copy())
    compiled(column_definition, backend)(array, surface, levels, array)
    np.testing.assert_array_equal(array, column_oracle(data, surface, levels))


A = np.ones((6, 6, 6))


@pytest.mark.parametrize(
    ("definition", "arguments", "message"),
    [
        (scale_definition, (A[:-1], A[1:]), "'out' and 'inp' overlap in memory.*not the same elements"),
        (scale_definition, (A, A.transpose(1, 0, 2)), "'out' and 'inp' overlap in memory.*not the same elements"),
        (scale_definition, (A[::-1], A), "not the same elements"),
        (scale_twice_definition, (A, A, np.ones((6, 6, 6))), "'inp' is read after 'out' was written"),
        (scale_twice_definition, (np.ones((6, 6, 6)), A, A), "'more' is written, too"),
        (laplacian_definition, (A, A), "'inp' is also read at other points"),
        (smooth_definition, (A, A), "'inp' is also read at other points"),
        (
            scale_definition,
            (A, np.lib.stride_tricks.as_strided(A, (6, 6, 6), (0, 48, 8))),
            "'out' is written, but several of its points share memory along I",
        ),
    ],
)
def test_unsafe_overlaps_are_refused(compiled: Stencils, definition: Any, arguments: Any, message: str) -> None:
    with pytest.raises(errors.AliasError, match=message):
        compiled(definition)(*arguments)
    assert (A == 1).all()


# What is wrong --------------------------------------------------------------------------------------------------------


def arrays(**changed: Any) -> dict[str, Any]:
    return {"inp": np.ones((6, 6, 6)), "out": np.zeros((6, 6, 6)), **changed}


READONLY = np.zeros((6, 6, 6))
READONLY.flags.writeable = False

WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    # arrays
    (arrays(inp=None), errors.ArgumentTypeError, r"'inp' is None, expected an array: the stencil uses it .*\.py:3\d"),
    (arrays(inp=1.0), errors.ArgumentTypeError, r"argument 'inp' is 1.0 \(of type float\), expected an array"),
    (arrays(inp=np.float64(1.0)), errors.ArgumentTypeError, r"argument 'inp' is .*\(of type float64\), expected an"),
    (arrays(out=[[[0.0]]]), errors.ArgumentTypeError, "argument 'out' is .* expected an array"),
    (arrays(inp=np.ones((6, 6, 6), "f4")), errors.DTypeError, "'inp' has elements of type float32, expected float64"),
    (
        arrays(inp=np.ones((6, 6, 6), "c16")),
        errors.DTypeError,
        "'inp' has elements of type complex128, expected float64",
    ),
    (arrays(inp=np.ones((6, 6, 6), ">f8")), errors.DTypeError, "'inp' has elements of type >f8, expected float64"),
    (
        arrays(inp=np.ones((6, 6))),
        errors.ShapeError,
        r"'inp' has 2 dimension\(s\) \(shape \(6, 6\)\), expected 3 along IJK",
    ),
    (arrays(out=np.ones((6, 6, 6, 1))), errors.ShapeError, "'out' has 4 dimension"),
    (
        arrays(inp=xr.DataArray(np.ones((6, 6)), dims=("I", "J"))),
        errors.DimensionsError,
        r"'inp' has the dims \(I, J\), expected \(I, J, K\) in any order",
    ),
    (
        arrays(inp=xr.DataArray(np.ones((6, 6, 6)), dims=("I", "J", "0"))),
        errors.DimensionsError,
        r"'inp' has the dims \(I, J, 0\), expected \(I, J, K\)",
    ),
    (arrays(out=READONLY), errors.ReadOnlyError, "argument 'out' is a read-only array, but the stencil writes it"),
    (
        arrays(inp=np.ones((1, 6, 6))),
        errors.ShapeError,
        r"'inp': 1 point\(s\) along I cannot hold any domain.*at least 3",
    ),
    (
        arrays(inp=np.ones((2, 6, 6))),
        errors.ShapeError,
        r"'inp': 2 point\(s\) along I cannot hold any domain.*at least 3",
    ),
    (arrays(out=np.ones((6, 0, 6))), errors.ShapeError, r"'out': 0 point\(s\) along J cannot hold any domain"),
    (
        arrays(inp=Labelled(np.ones((6, 6, 6)), default_origin=(1, 1))),
        errors.OriginError,
        "argument 'inp': its default origin",
    ),
    # origin
    (arrays(origin=(0, 1, 0)), errors.OriginError, "'inp': its origin along I is 0.* expected an origin of at least 1"),
    (arrays(origin={"inp": (1, 0, 0)}), errors.OriginError, "'inp': its origin along J is 0"),
    (arrays(origin={"inp": (1, 1, 0), "out": (-1, 0, 0)}), errors.OriginError, "'out': its origin along I is -1"),
    (arrays(origin=(1, 1, 9)), errors.ShapeError, r"'inp': 6 point\(s\) along K cannot hold any domain"),
    (arrays(origin=(1, 1, 9), domain=(1, 1, 1)), errors.OriginError, "'inp': its origin along K is 9, outside"),
    (arrays(origin=(1, 1)), errors.OriginError, r"origin is \(1, 1\).*expected three integers along I, J, K"),
    (arrays(origin=(1, 1, 0.5)), errors.ArgumentTypeError, r"origin is \(1, 1, 0.5\) .*expected integers"),
    (arrays(origin=1.0), errors.ArgumentTypeError, "origin is 1.0 .*expected integers"),
    (arrays(origin=1), errors.OriginError, "'inp': its origin along I is 0"),
    (arrays(origin=(1, 1, 6)), errors.ShapeError, r"'inp': 6 point\(s\) along K cannot hold any domain.*at least 7"),
    (arrays(origin={"_all_": (1, 1, 0), "out": (6, 0, 0)}), errors.ShapeError, r"'out': 6 point\(s\) along I"),
    (arrays(origin="110"), errors.ArgumentTypeError, "origin is '110' .*expected integers"),
    (arrays(origin={"input": (1, 1, 0)}), errors.OriginError, "an entry for 'input'.* the fields are: inp, out"),
    (arrays(origin={"ot": (1, 1, 0)}), errors.OriginError, r"an entry for 'ot'.*did you mean 'out'\?"),
    (arrays(origin={"inp": (1, "a", 0)}), errors.ArgumentTypeError, r"origin\['inp'\] is .* expected integers"),
    # domain
    (
        arrays(domain=(5, 4, 6)),
        errors.DomainError,
        "'inp': a domain of 5 along I does not fit.*largest domain along I is 4",
    ),
    (arrays(domain=(4, 4, 7)), errors.DomainError, "'inp': a domain of 7 along K does not fit"),
    (arrays(domain=(4, 4)), errors.DomainError, r"domain is \(4, 4\) .*expected three sizes along I, J, K"),
    (arrays(domain=(4, 4, -1)), errors.DomainError, r"domain is \(4, 4, -1\) .*not negative"),
    (arrays(domain=(4, 4, 1.5)), errors.ArgumentTypeError, r"domain is \(4, 4, 1.5\) .*expected integers"),
    (arrays(domain=4), errors.ArgumentTypeError, "domain is 4 .*expected integers, one for each axis"),
    (arrays(domain=(4, 4, 2**63 - 1)), errors.DomainError, "along K does not fit"),
    (
        arrays(domain=(4, 4, 2**63)),
        errors.DomainError,
        r"domain is \(4, 4, 9223372036854775808\) .*more points than any array has",
    ),
    (arrays(domain=[4, 4, 2**63]), errors.DomainError, "more points than any array has"),
    (arrays(origin=(1, 1, -(2**63) - 1)), errors.OriginError, "more points than any array has"),
    (arrays(origin=2**64), errors.OriginError, "origin is 18446744073709551616 .*more points than any array has"),
    # scalars
    (arrays(weight="1"), errors.ArgumentTypeError, "argument 'weight' is '1' .*expected a number .*float64"),
    (
        arrays(weight=None),
        errors.ArgumentTypeError,
        r"argument 'weight' is None, expected a number .*test_call\.py:3\d\)",
    ),
    (arrays(weight=1j), errors.ArgumentTypeError, "argument 'weight' is 1j"),
    (arrays(weight=np.ones(1)), errors.ArgumentTypeError, "argument 'weight' is array"),
    (arrays(weight=10**400), errors.ArgumentValueError, "argument 'weight' is .*, out of the range of float64"),
    # names
    (arrays(wieght=1.0), errors.ArgumentTypeError, r"unexpected argument 'wieght' \(did you mean 'weight'\?\)"),
    (arrays(validate=False), errors.ArgumentTypeError, "unexpected argument 'validate'"),
    (
        {"inp": A},
        errors.ArgumentTypeError,
        "'laplacian_definition' got no value for 'out'; its parameters are: inp, out",
    ),
    (arrays(exec_info=1), errors.ArgumentTypeError, "exec_info is 1 .*expected a dict"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), WRONG, ids=lambda value: None)
def test_a_wrong_call(compiled: Stencils, arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    out = arguments.get("out")
    before = copy.deepcopy(out)
    with pytest.raises(error, match=message) as raised:
        compiled(laplacian_definition)(**arguments)
    assert isinstance(raised.value, errors.FieldstoneError)
    if isinstance(out, np.ndarray):
        np.testing.assert_array_equal(out, before)


def large_definition(inp: Field[F64], out: Field[IJ, F64]):
    with computation(FORWARD), interval(...):
        t = inp
    with computation(BACKWARD), interval(...):
        out = t


@pytest.mark.filterwarnings("ignore::fieldstone.errors.LayoutWarning")
@pytest.mark.parametrize("backend", ["debug", "numpy", "cpu_kfirst", "cpu_ifirst"])
def test_temporaries_that_no_memory_is_large_enough_for(compiled: Stencils, backend: str) -> None:
    inp, out = np.broadcast_to(1.0, (1, 1, 2**45)), np.zeros((1, 1))
    with pytest.raises(MemoryError, match="llocate"):
        compiled(large_definition, backend)(inp, out)
    assert out[0, 0] == 0.0


def conditional_definition(inp: Field[F64], out: Field[F64]):
    with computation(PARALLEL), interval(...):
        if inp > 2.0:
            out = 1.0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit that is kept")
def test_a_statement_that_no_memory_is_large_enough_for(compiled: Stencils) -> None:
    import resource

    stencil = compiled(conditional_definition, "debug")
    inp, out = np.broadcast_to(1.0, (2**27, 1, 1)), np.zeros((2**27, 1, 1))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**26, before[1]))
    try:
        with pytest.raises(MemoryError, match="llocate"):
            stencil(inp, out)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def test_wrong_positions(compiled: Stencils) -> None:
    with pytest.raises(errors.ArgumentTypeError, match=r"takes 2 argument\(s\) by position, got 3"):
        compiled(laplacian_definition)(A, A, 1.0)
    with pytest.raises(errors.ArgumentTypeError, match="got several values for 'inp'"):
        compiled(laplacian_definition)(A, inp=A)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (128, "out of the range of int8"),
        (-129, "out of the range of int8"),
        (1.0, "expected an integer for the scalar parameter of type int8"),
        (None, "is None"),
    ],
)
def test_integers_out_of_range(compiled: Stencils, value: Any, error: str) -> None:
    with pytest.raises((errors.ArgumentValueError, errors.ArgumentTypeError), match=f"argument 'i8' .*{error}"):
        compiled(scalars_definition)(np.zeros((2, 2, 2)), value, 0, 0, 0, False, 0)


def two_levels_definition(out: Field[F64]):
    with computation(PARALLEL):
        with interval(0, 2):
            out = 1.0
        with interval(2, None):
            out = 2.0


def test_too_few_levels(compiled: Stencils) -> None:
    assert compiled(two_levels_definition).domain_info.min_sequential_axis_size == 2
    with pytest.raises(errors.DomainError, match=r"the domain has 1 level\(s\) along K.* at least 2"):
        compiled(two_levels_definition)(np.zeros((2, 2, 1)))


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        ("cupy", "backend 'cupy' is not known; the backends are: .*gpu, gt:gpu, gtcuda, cuda"),
        (
            "numpi",
            r"backend 'numpi' is not known \(did you mean 'numpy'\?\); the backends are: debug, numpy, cpu_kfirst",
        ),
        ("fortran", "backend 'fortran' is not known; the backends are"),
    ],
)
def test_a_wrong_backend(backend: str, message: str) -> None:
    with pytest.raises(errors.BackendError, match=message):
        gtscript.stencil(backend=backend)(copy_definition)


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("gtx86", "cpu_kfirst"),
        ("gt:gpu", "gpu"),
        ("gtcuda", "gpu"),
        ("cuda", "gpu"),
        ("gt:cpu_kfirst", "cpu_kfirst"),
        ("gtmc", "cpu_ifirst"),
        ("gt:cpu_ifirst", "cpu_ifirst"),
    ],
)
def test_aliases_of_backends(alias: str, name: str) -> None:
    assert gtscript.stencil(backend=alias)(copy_definition).backend == name


# freeze, exec_info, attributes ----------------------------------------------------------------------------------------


def test_frozen_stencils(compiled: Stencils) -> None:
    stencil = compiled(laplacian_definition)
    frozen = stencil.freeze(origin={"inp": (2, 1, 0), "_all_": (0, 0, 0)}, domain=(3, 3, 3))
    assert frozen.origin == {"inp": (2, 1, 0), "out": (0, 0, 0)}
    assert frozen.domain == (3, 3, 3)
    inp, out = random(6, 6, 6), np.zeros((6, 6, 6))
    frozen(inp, out)
    np.testing.assert_allclose(out[:3, :3, :3], laplacian_oracle(inp[1:6, 0:5, 0:3]), rtol=1e-12)
    assert not out[3:].any()
    # What is frozen is still checked: other arrays may be too small.
    with pytest.raises(errors.DomainError, match="argument 'out': a domain of 3 along I does not fit"):
        frozen(inp, np.zeros((2, 6, 6)))
    with pytest.raises(errors.ArgumentTypeError, match="origin and domain of a frozen stencil are fixed"):
        frozen(inp, out, domain=(1, 1, 1))
    for origin, domain, error, message in [
        ({"inp": (1, 1, 1)}, (1, 1, 1), errors.OriginError, "freeze: origin has no entry for argument 'out'"),
        ((1, 1), (1, 1, 1), errors.OriginError, "expected three integers along I, J, K"),
        ({"inp": (1, 1), "out": (0, 0, 0)}, (1, 1, 1), errors.OriginError, r"origin\['inp'\] is \(1, 1\)"),
        ({"imp": (1, 1, 1)}, (1, 1, 1), errors.OriginError, r"did you mean 'inp'\?"),
        ((1, 0, 0), (1, 1, 1), errors.OriginError, "'inp': its origin along J is 0, .* at least 1"),
        ({"_all_": (1, 1, 0), "out": (0, 0, -1)}, (1, 1, 1), errors.OriginError, "'out': its origin along K is -1"),
        ((1, 1, 1), (1, 1), errors.DomainError, "expected three sizes"),
        ((1, 1, 1), (1, 1, -1), errors.DomainError, "not negative"),
        ((1, 1, 1), None, errors.ArgumentTypeError, "domain is None"),
        (None, (1, 1, 1), errors.ArgumentTypeError, "origin is None"),
    ]:
        with pytest.raises(error, match=message):
            stencil.freeze(origin=origin, domain=domain)
    with pytest.raises(errors.DomainError, match="at least 2"):
        compiled(two_levels_definition).freeze(origin=(0, 0, 0), domain=(1, 1, 1))
    assert frozen.stencil_object is frozen.stencil is stencil


TIMES = [
    "call_start_time",
    "call_run_start_time",
    "run_start_time",
    "run_end_time",
    "call_run_end_time",
    "call_end_time",
]


@pytest.mark.parametrize("backend", BACKENDS)
def test_times_of_a_call(compiled: Stencils, backend: str) -> None:
    info: dict[str, Any] = {"__aggregate_data": True}
    for _ in range(3):
        compiled(copy_definition, backend)(A, np.zeros((6, 6, 6)), exec_info=info)
    assert [info[name] for name in TIMES] == sorted(info[name] for name in TIMES)
    totals = info[type(compiled(copy_definition, backend)).__name__]
    assert totals["ncalls"] == 3
    assert totals["total_call_time"] >= totals["call_time"] >= totals["run_time"] > 0


def test_attributes(compiled: Stencils) -> None:
    stencil = compiled(column_definition, "numpy")
    assert stencil.name == "column_definition"
    info = stencil.field_info
    assert list(info) == ["inp", "surface", "levels", "out"]
    assert [field.access for field in info.values()] == [
        AccessKind.READ,
        AccessKind.READ,
        AccessKind.READ,
        AccessKind.READ_WRITE,
    ]
    assert [field.axes for field in info.values()] == [("I", "J", "K"), ("I", "J"), ("K",), ("I", "J", "K")]
    assert info["surface"].domain_mask == (True, True, False)
    assert info["surface"].ndim == info["surface"].domain_ndim == 2
    assert info["inp"].dtype == np.float64
    boundary = compiled(laplacian_definition).field_info["inp"].boundary
    assert boundary == ((1, 1), (1, 1), (0, 0))
    assert (boundary.lower_indices, boundary.upper_indices) == ((1, 1, 0), (1, 1, 0))
    assert {name: info.dtype for name, info in compiled(scalars_definition).parameter_info.items()} == {
        "i8": np.int8,
        "u16": np.uint16,
        "i64": np.int64,
        "f32": np.float32,
        "flag": np.bool_,
        "f64": np.float64,
    }
    assert stencil.domain_info.sequential_axis == "K"
    assert "def column_definition(" in stencil.source
    stencil.clean_call_args_cache()


def test_forms_of_a_stencil() -> None:
    stencil = gtscript.stencil(backend="cpu_kfirst")(copy_definition)
    assert "out_field = in_field" in stencil.inspect("source")
    assert "out_field = in_field" in stencil.inspect("ir")
    assert "import numpy" in stencil.inspect("numpy")
    stencil(A, np.zeros((6, 6, 6)))
    assert "define" in stencil.inspect("llvm")
    assert stencil.inspect("asm")
    assert "contiguous along K" in stencil.inspect("schedule")
    with pytest.raises(errors.ArgumentValueError, match=r"form 'lvm' is not known \(did you mean 'llvm'\?\)"):
        stencil.inspect("lvm")


def test_a_slow_layout_is_warned_of_once() -> None:
    stencil = gtscript.stencil(backend="debug")(copy_definition)
    slow, out = np.zeros((32, 32, 64))[:, :, ::4], np.zeros((32, 32, 16))
    message = "'in_field' of stencil 'copy_definition'.* moves 4 times the bytes"
    with pytest.warns(errors.LayoutWarning, match=message) as caught:
        stencil(slow, out)
    assert [warning.filename for warning in caught] == [__file__]
    stencil(slow, out)


def test_a_small_array_may_lie_as_it_likes(compiled: Stencils) -> None:
    compiled(copy_definition)(np.zeros((4, 4, 16))[:, :, ::4], np.zeros((4, 4, 4)))


def test_options() -> None:
    with pytest.warns(
        UserWarning, match=r"option\(s\) thread are not known and have no effect; the options are: threads"
    ):
        stencil = gtscript.stencil(backend="numpy", thread=2)(copy_definition)
    assert stencil.options["backend_opts"] == {"thread": 2}
    for threads in (0, -1, "two"):
        with pytest.raises(errors.ArgumentValueError, match=f"threads is {threads!r}, expected a positive integer"):
            gtscript.stencil(backend="debug", threads=threads)(copy_definition)
    with pytest.raises(errors.ArgumentTypeError, match=r"dims is a mapping from names to labels, .*, not 'lon'"):
        gtscript.stencil(backend="debug", dims="lon")(copy_definition)
    with pytest.raises(errors.DimensionsError, match="dims: 'lon' is mapped to 'X', expected 'I', 'J', 'K'"):
        gtscript.stencil(backend="debug", dims={"lon": "X"})(copy_definition)
    array, out = random(5, 5, 5), np.zeros((5, 5, 5))
    gtscript.stencil(backend="cpu_kfirst", threads=1, rebuild=True)(copy_definition)(array, out)
    np.testing.assert_array_equal(out, array)


def external_definition(out: Field[F64]):
    from __externals__ import factor

    with computation(PARALLEL), interval(...):
        out = factor


def test_constants_are_the_externals() -> None:
    stencil = gtscript.stencil(backend="debug", externals={"factor": 3.5})(external_definition)
    assert stencil.constants == {"factor": 3.5}
    out = np.zeros((2, 2, 2))
    stencil(out)
    assert (out == 3.5).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_threads_may_call_one_stencil_at_once(backend: str) -> None:
    stencil = gtscript.stencil(backend=backend)(laplacian_definition)
    inputs = [random(n, 12, 9) for n in range(5, 13)]
    outputs = [np.zeros_like(array) for array in inputs]

    def call(n: int) -> None:
        for _ in range(20):
            stencil(inputs[n], outputs[n])

    with ThreadPoolExecutor(len(inputs)) as threads:
        list(threads.map(call, range(len(inputs))))
    for array, out in zip(inputs, outputs, strict=True):
        np.testing.assert_allclose(out[1:-1, 1:-1], laplacian_oracle(array), rtol=1e-12, atol=1e-14)


def test_an_array_may_be_passed_on_by_its_last_owner(compiled: Stencils) -> None:
    out = np.zeros((4, 4, 4))
    compiled(copy_definition, "cpu_kfirst")(random(4, 4, 4), out)
    compiled(copy_definition, "cpu_kfirst")(memoryview(random(4, 4, 4)), out)
    np.testing.assert_array_equal(out, random(4, 4, 4))
