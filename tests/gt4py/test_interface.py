"""What programs ask of GT4Py's modules besides stencils: storages, layouts, backends, settings, errors, options."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldstone
import fieldstone.gt4py

with fieldstone.gt4py.installed():
    from gt4py import storage
    from gt4py.cartesian import backend, config, definitions, frontend, gt_cache_manager, gtscript
    from gt4py.cartesian.frontend import exceptions
    from gt4py.cartesian.gtc.definitions import Boundary, Index, Shape
    from gt4py.cartesian.gtc.passes.oir_pipeline import DefaultPipeline
    from gt4py.cartesian.gtscript import (
        PARALLEL,
        THIS_K,
        Field,
        compile_assert,
        computation,
        external_assert,
        f32,
        f64,
        i32,
        interval,
    )
    from gt4py.cartesian.stencil_object import FrozenStencil, StencilObject
    from gt4py.storage.cartesian import layout, layout_registry
    from gt4py.storage.cartesian import utils as storage_utils

# Storages -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preset", "order"),
    [
        ("numpy", (0, 1, 2)),
        ("debug", (0, 1, 2)),
        ("gt:cpu_kfirst", (0, 1, 2)),
        ("dace:cpu_kfirst", (0, 1, 2)),
        ("gt:cpu_ifirst", (2, 1, 0)),
        ("dace:cpu_KJI", (2, 1, 0)),
        ("dace:cpu", (1, 2, 0)),
        ("gt:gpu", (2, 1, 0)),
        ("dace:gpu", (2, 1, 0)),
    ],
)
def test_layouts(preset: str, order: tuple[int, ...]) -> None:
    info = storage.from_name(preset)
    assert info["layout_map"](("I", "J", "K")) == order
    assert info["device"] == ("gpu" if "gpu" in preset else "cpu")
    # Data dimensions have larger strides.
    assert info["layout_map"](("I", "J", "K", "0")) == (*(place + 1 for place in order), 0)
    planes = info["layout_map"](("I", "J"))
    assert (planes[0] < planes[1]) == (order[0] < order[1])


@pytest.mark.parametrize(
    "preset", [name for name in layout_registry.REGISTRY if "gpu" not in name and "cuda" not in name]
)
def test_arrays_lie_as_the_backend_wants(preset: str) -> None:
    info = storage.from_name(preset)
    for shape, dimensions in (((4, 5, 6), None), ((4, 5), None), ((6,), ("K",)), ((4, 6), ("I", "K"))):
        array = storage.zeros(shape, np.float32, backend=preset, dimensions=dimensions, aligned_index=(1,) * len(shape))
        assert type(array) is np.ndarray
        assert (array.shape, array.dtype) == (shape, np.dtype(np.float32))
        assert info["is_optimal_layout"](array, dimensions or ("I", "J", "K")[: len(shape)])
    wide = storage.ones((4, 5, 6), (np.float64, (3,)), backend=preset)
    assert wide.shape == (4, 5, 6, 3)
    assert wide.strides[3] == max(wide.strides)
    # Some programs label data dimensions by their sizes.
    wider = storage.zeros((4, 5, 6, 3, 3), backend=preset, dimensions=("I", "J", "K", "3", "3"))
    assert [wider.strides[axis] for axis in (3, 4)] == sorted(wider.strides, reverse=True)[:2]


def test_values() -> None:
    assert (storage.ones((2, 3, 4), backend="numpy") == 1.0).all()
    assert (storage.full((2, 3, 4), 2.5, backend="gt:cpu_ifirst") == 2.5).all()
    assert storage.empty(shape=(2, 3, 4), dtype=int, backend="numpy").dtype == np.int64
    data = np.arange(24).reshape(2, 3, 4)
    copied = storage.from_array(data, backend="gt:cpu_ifirst")
    assert copied.dtype == np.float64
    assert (copied == data).all()
    assert storage.from_array(data, None, backend="numpy").dtype == data.dtype
    vectors = storage.from_array(np.ones((2, 2, 2, 3)), (float, (3,)), backend="numpy")
    assert vectors.shape == (2, 2, 2, 3)
    assert storage.from_array([1.0, 2.0], backend="numpy", dimensions=(gtscript.K,)).shape == (2,)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"backend": "abacus"}, RuntimeError, "no layout 'abacus'"),
        ({"dimensions": ("X", "J", "K")}, ValueError, "dimensions are 'I', 'J', 'K'"),
        ({"dimensions": ("I", "J")}, ValueError, "3 for this shape"),
        ({"aligned_index": (0, 0)}, ValueError, "aligned_index"),
        ({"shape": (-1, 2, 2)}, ValueError, "shape"),
    ],
)
def test_wrong_storages(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        storage.zeros(**{"shape": (2, 2, 2), "backend": "numpy"} | arguments)


def test_a_layout_of_ones_own() -> None:
    layout_map = layout.layout_maker_factory((1, 0, 2))
    info = layout.LayoutInfo(
        alignment=8, device="cpu", layout_map=layout_map, is_optimal_layout=layout.layout_checker_factory(layout_map)
    )
    storage.register("mine", info)
    try:
        array = storage.zeros((4, 5, 6), backend="mine", aligned_index=(1, 1, 2))
        assert array.strides[1] > array.strides[0] > array.strides[2]
        assert array[1:, 1:, 2:].ctypes.data % 64 == 0
    finally:
        storage.register("mine", None)
    with pytest.raises(ValueError, match="no layout 'mine'"):
        storage.from_name("mine")


def test_the_form_before_gt4py_1() -> None:
    """There the storage knew its origin, and stencils needed none."""
    made = storage.zeros("gtx86", (1, 2, 0), (4, 5, 6), np.float32)
    assert (made.default_origin, made.shape, made.dtype) == ((1, 2, 0), (4, 5, 6), np.dtype(np.float32))
    plane = storage.from_array(
        data=np.ones((4, 5)), backend="gtmc", default_origin=(1, 1), mask=(True, True, False), managed_memory=False
    )
    assert plane.dims == ("I", "J")
    assert storage.full("numpy", (0, 0, 0), (2, 2, 2), 3.0, float).sum() == 24.0


def test_storage_utilities() -> None:
    array = np.ones((2, 3))
    assert storage_utils.cpu_copy(array) is not array
    assert storage_utils.asarray(array) is array
    assert storage_utils.dimensions_to_mask(("I", "K", "0")) == (True, False, True, True)

    class Told:
        __gt_dims__ = ("I", "J")
        __gt_origin__ = (1, 2)

    assert (storage_utils.get_dims(Told()), storage_utils.get_origin(Told())) == (("I", "J"), (1, 2))
    assert storage_utils.get_dims(array) is storage_utils.get_origin(array) is None
    with pytest.raises(TypeError, match="'dict' is no array"):
        storage_utils.asarray({})


# Stencils -------------------------------------------------------------------------------------------------------------


def scale(inp: Field["real"], out: Field["real"], *, factor: "real" = 2.0):
    """A documented stencil."""
    from __externals__ import shift

    with computation(PARALLEL), interval(1, None):
        out = factor * inp[-1, 0, -1] + shift


def compiled(backend_name: str = "gt:cpu_ifirst", **options: Any) -> Any:
    return gtscript.stencil(
        backend_name, scale, dtypes={"real": np.float64}, externals={"shift": 1.0}, name="model.scale", **options
    )


def test_what_a_stencil_says_of_itself() -> None:
    stencil = compiled()
    assert isinstance(stencil, StencilObject)
    assert stencil.backend == "gt:cpu_ifirst"
    assert stencil.options["name"] == "scale"
    assert stencil.options["module"] == "model"
    assert stencil.options["literal_float_precision"] == 64
    assert stencil.constants == {"shift": 1.0}
    assert stencil.field_info["inp"].access == definitions.AccessKind.READ
    assert stencil.field_info["out"].access == definitions.AccessKind.WRITE
    assert stencil.field_info["inp"].boundary.lower_indices == (1, 0, 0)
    assert stencil.field_info["inp"].axes == ("I", "J", "K")
    assert stencil.parameter_info["factor"].dtype == np.float64
    assert stencil.domain_info == definitions.DomainInfo(("I", "J"), "K", 1, 3)
    assert stencil.definition_func is scale
    assert stencil._gt_id_ == compiled()._gt_id_ != compiled("numpy")._gt_id_
    assert copy.deepcopy(stencil) is stencil
    assert stencil.__doc__ == "A documented stencil."


def test_what_a_stencil_looks_like() -> None:
    text = str(compiled())
    assert text.startswith(
        "\n<StencilObject: model.scale> [backend='gt:cpu_ifirst']\n    - I/O fields: {'inp': FieldInfo("
    )
    assert "- Constants: {'shift': 1.0}" in text
    assert "out = factor * inp[-1, 0, -1] + shift" in text


def test_all_ways_to_call() -> None:
    stencil = compiled()
    inp, expected = np.random.default_rng(0).random((5, 4, 3)), np.zeros((5, 4, 3))
    expected[1:, :, 1:] = 2.0 * inp[:-1, :, :-1] + 1.0
    place = {"origin": {"_all_": (1, 0, 0)}, "domain": (4, 4, 3)}
    frozen = stencil.freeze(origin={"inp": (1, 0, 0), "out": (1, 0, 0)}, domain=(4, 4, 3))
    assert isinstance(frozen, FrozenStencil)
    assert frozen.stencil_object is stencil
    calls = [
        lambda out: stencil(inp, out, **place),
        lambda out: stencil(inp=inp, out=out, factor=2.0, validate_args=False, exec_info={}, **place),
        lambda out: stencil.run(
            _domain_=(4, 4, 3), _origin_={"inp": (1, 0, 0), "out": (1, 0, 0)}, exec_info=None, inp=inp, out=out
        ),
        lambda out: frozen(inp=inp, out=out, factor=2.0, exec_info={}),
        lambda out: gtscript.lazy_stencil("numpy", scale, dtypes={"real": float}, externals={"shift": 1.0})(
            inp, out, **place
        ),
    ]
    for call in calls:
        out = np.zeros_like(inp)
        call(out)
        np.testing.assert_array_equal(out, expected)


def test_times() -> None:
    stencil, times, info = compiled(build_info=(build := {})), {}, {"__aggregate_data": True}
    assert {"parse_time", "build_time", "load_time"} <= set(build)
    inp = np.zeros((5, 4, 3))
    for exec_info in (times, info, info):
        stencil(inp, inp.copy(), origin=(1, 0, 0), exec_info=exec_info)
    assert times["call_start_time"] <= times["run_start_time"] <= times["run_end_time"] <= times["call_end_time"]
    (aggregated,) = (value for value in info.values() if isinstance(value, dict) and "ncalls" in value)
    assert aggregated["ncalls"] == 2
    assert aggregated["total_run_time"] >= aggregated["run_time"]


def test_times_are_collected_by_the_name_of_the_stencils_class() -> None:
    collected: dict[str, Any] = {"__aggregate_data": True}
    stencils, inp = [compiled(), compiled("numpy")], np.zeros((5, 4, 3))
    for stencil in stencils:
        stencil(inp, inp.copy(), origin=(1, 0, 0), exec_info=collected)
    assert all(collected[type(stencil).__name__]["ncalls"] == 1 for stencil in stencils)


def older(inp: Field[f64], out: Field[f64], *, levels: i32):
    from __externals__ import strict

    with computation(PARALLEL), interval(...):
        external_assert(strict)
        out = inp + f64(THIS_K) * i32(2.7) if levels > THIS_K else f32(inp)


def test_words_that_had_other_names_once() -> None:
    stencil = gtscript.stencil("gtc:gt:cpu_ifirst", older, externals={"strict": True})
    inp = np.random.default_rng(0).random((3, 2, 4))
    out = np.zeros_like(inp)
    stencil(inp, out, levels=3)
    np.testing.assert_array_equal(out[:, :, :3], inp[:, :, :3] + [0.0, 2.0, 4.0])
    np.testing.assert_array_equal(out[:, :, 3], inp[:, :, 3].astype(np.float32))


@pytest.mark.parametrize("number", [int, np.int64, np.int32, np.int16])
def test_numbers_of_numpy_are_bounds_and_offsets_too(number: type) -> None:
    def lagged(inp: Field[float], out: Field[float]):
        from __externals__ import lag

        compile_assert(lag > 1)
        with computation(PARALLEL), interval(lag, None):
            out = inp[0, 0, -lag]

    inp = np.random.default_rng(0).random((2, 2, 5))
    out = np.zeros_like(inp)
    gtscript.stencil("gt:cpu_kfirst", lagged, externals={"lag": number(2)})(inp, out)
    np.testing.assert_array_equal(out[:, :, 2:], inp[:, :, :-2])


def test_functions_are_functions() -> None:
    """In GT4Py the decorator returns what it is given."""

    @gtscript.function
    def double(value: Any, factor: float = 2.0) -> Any:
        """Twice."""
        return factor * value

    assert gtscript.function(double) is double
    assert (double(3.0), double.__name__, double.__doc__) == (6.0, "double", "Twice.")
    assert str(inspect.signature(double)) == "(value: 'Any', factor: 'float' = 2.0) -> 'Any'"

    @gtscript.function
    def copied(inp: Field[float], out: Field[float]):
        with computation(PARALLEL), interval(...):
            out = inp

    assert gtscript.stencil(None, copied).backend == "numpy"


def test_what_programs_ask_annotations() -> None:
    annotation = gtscript.Field[gtscript.IJ, (np.float32, (3, 2))]
    assert isinstance(annotation, gtscript._FieldDescriptor)
    assert (annotation.axes, annotation.data_dims) == (gtscript.IJ, (3, 2))
    assert gtscript.mask_from_axes(annotation.axes) == [True, True, False]
    assert gtscript.mask_from_axes((gtscript.K,)) == [False, False, True]
    assert [axis.name for axis in (gtscript.I, gtscript.J, gtscript.K)] == ["I", "J", "K"]


def test_a_stencil_of_a_stencil() -> None:
    again = gtscript.stencil("numpy", compiled(), dtypes={"real": np.float32}, externals={"shift": 0.0})
    assert again.field_info["inp"].dtype == np.float32


def test_options_of_gt4pys_compilers_have_no_effect_and_others_a_warning() -> None:
    compiled(verbose=True, opt_level="2", oir_pipeline=DefaultPipeline(skip=[DefaultPipeline.all_steps()[0]]), _impl=1)
    with pytest.warns(RuntimeWarning, match="backend 'gt:cpu_ifirst' has no option.s. loudly") as caught:
        compiled(loudly=True)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"backend": "abacus"}, "no backend 'abacus'"),
        ({"externals": [1]}, "externals is a dictionary"),
        ({"dtypes": 3}, "dtypes is a dictionary"),
        ({"build_info": "now"}, "build_info is a dictionary"),
        ({"name": 3}, "name is a string"),
        ({"literal_float_precision": 16}, "literal_float_precision"),
    ],
)
def test_wrong_options_are_value_errors(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        gtscript.stencil(**{"backend": "numpy", "definition": scale, "externals": {"shift": 1.0}} | arguments)


@pytest.mark.parametrize("name", ["gt:gpu", "cuda", "dace:gpu", "gtcuda"])
def test_backends_of_devices_run_on_one(name: str) -> None:
    with fieldstone.simulated_device() as device:
        values = np.arange(60.0).reshape(5, 4, 3)
        inp = storage.from_array(values, backend=name)
        out = storage.zeros((5, 4, 3), backend=name)
        moved = device.transfers.downloads
        compiled(name)(inp, out, origin=(1, 0, 0), domain=(4, 4, 3))
        assert device.transfers.downloads == moved
        expected = np.zeros((5, 4, 3))
        compiled("numpy")(values, expected, origin=(1, 0, 0), domain=(4, 4, 3))
        np.testing.assert_array_equal(storage.cartesian.utils.cpu_copy(out), expected)


def test_arguments_are_checked_with_gt4pys_classes() -> None:
    stencil, inp = compiled(), np.zeros((5, 4, 3))
    place = {"origin": (1, 0, 0), "domain": (4, 4, 3)}
    for wrong, error in (
        ({"out": inp.astype(np.float32)}, TypeError),
        ({"out": inp[:3]}, ValueError),
        ({"out": inp.reshape(5, 12)}, ValueError),
        ({"origin": (0, 0, 0)}, ValueError),
        ({"domain": (5, 4, 3)}, ValueError),
        ({"factor": "two"}, TypeError),
    ):
        with pytest.raises(error):
            stencil(**{"inp": inp, "out": inp.copy()} | place | wrong)


def test_copying_a_lazy_stencil_compiles_nothing() -> None:
    lazy = gtscript.lazy_stencil("numpy", scale, dtypes={"real": float}, externals={"shift": 1.0})
    assert copy.copy(lazy) is copy.deepcopy(lazy) is lazy
    assert repr(lazy).endswith("not compiled yet>")


def test_stencils_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(pickled)).backend == "dace:cpu"


@gtscript.stencil("dace:cpu")
def pickled(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = inp


# Backends, settings, errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("debug", "debug"),
        ("numpy", "numpy"),
        ("gt:cpu_ifirst", "cpu_ifirst"),
        ("gt:cpu_kfirst", "cpu_kfirst"),
        ("dace:cpu", "cpu_ifirst"),
        ("dace:cpu_kfirst", "cpu_kfirst"),
        ("gtx86", "cpu_kfirst"),
        ("gtmc", "cpu_ifirst"),
        ("gt:gpu", "gpu"),
        ("cuda", "gpu"),
        ("dace:gpu", "gpu"),
        ("dace:gpu_IJK", "gpu"),
        ("gtc:py", "debug"),
        ("gtc:numpy", "numpy"),
        ("gtc:gt:cpu_kfirst", "cpu_kfirst"),
        ("gtc:dace", "cpu_ifirst"),
        ("gtc:cuda", "gpu"),
    ],
)
def test_backends(name: str, here: str) -> None:
    found = backend.from_name(name)
    assert (found.name, found.fieldstone_name) == (name, here)
    assert found.storage_info == storage.from_name(name)
    assert name in backend.REGISTRY.names
    assert issubclass(found, backend.Backend)


def test_backends_cannot_be_added() -> None:
    class Abacus(backend.BaseBackend):
        name = "abacus"

    with pytest.raises(NotImplementedError, match="backend 'abacus' cannot be added"):
        backend.register(Abacus)
    with pytest.raises(ValueError, match="no backend 'abacus'"):
        backend.from_name("abacus")
    with pytest.raises(ValueError, match="no front end 'fortran'"):
        frontend.from_name("fortran")
    assert frontend.from_name("gtscript").name == "gtscript"


def test_the_cache_is_where_the_settings_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(config.cache_settings, "root_path", str(tmp_path))
    monkeypatch.setitem(config.cache_settings, "dir_name", ".kept")
    inp = np.zeros((5, 4, 3))
    compiled()(inp, inp.copy(), origin=(1, 0, 0))
    assert any((tmp_path / ".kept").rglob("*"))
    assert gt_cache_manager.find_caches() == [tmp_path / ".kept"]
    gt_cache_manager.clean_caches(gt_cache_manager.find_caches())
    assert list(tmp_path.iterdir()) == []


def test_environment(tmp_path: Path) -> None:
    code = (
        "import fieldstone.gt4py; fieldstone.gt4py.install()\n"
        "from gt4py.cartesian import config, definitions\n"
        "print(config.cache_settings['dir_name'], config.cache_settings['root_path'], config.chosen_cache())\n"
        "print(definitions.LITERAL_INT_PRECISION, definitions.LITERAL_FLOAT_PRECISION)\n"
    )
    environment = {
        "GT_CACHE_DIR_NAME": "kept",
        "GT_CACHE_ROOT": "/somewhere",
        "GT4PY_LITERAL_FLOAT_PRECISION": "32",
        "GT4PY_LITERAL_INT_PRECISION": "32",
    }
    run = [sys.executable, "-c", code]
    told = subprocess.run(run, capture_output=True, text=True, env=environment, check=True, cwd=tmp_path).stdout
    assert told == "kept /somewhere {'root_path': '/somewhere', 'dir_name': 'kept'}\n32 32\n"
    untold = subprocess.run(run, capture_output=True, text=True, env={}, check=True, cwd=tmp_path).stdout
    assert untold == f".gt_cache {tmp_path} None\n64 64\n"


def test_errors_have_gt4pys_hierarchy() -> None:
    assert issubclass(exceptions.GTScriptSyntaxError, definitions.GTSyntaxError)
    assert issubclass(definitions.GTSyntaxError, definitions.GTError)
    for error in (
        exceptions.GTScriptSymbolError,
        exceptions.GTScriptDefinitionError,
        exceptions.GTScriptValueError,
        exceptions.GTScriptDataTypeError,
    ):
        assert issubclass(error, exceptions.GTScriptSyntaxError)
    assert issubclass(exceptions.GTScriptValueError, exceptions.GTScriptDefinitionError)
    assert issubclass(exceptions.GTScriptAssertionError, definitions.GTSpecificationError)
    assert exceptions.GTScriptSyntaxError is importlib.import_module("fieldstone.errors").GTScriptSyntaxError


def wrong(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = imp


def test_errors_say_what_gt4pys_say() -> None:
    with pytest.raises(exceptions.GTScriptSymbolError) as caught:
        gtscript.stencil("numpy", wrong)
    error = caught.value
    assert (error.frontend, error.name, error.message) == ("gtscript", "imp", "name `imp` is not defined")
    line = wrong.__code__.co_firstlineno + 2
    assert (error.loc.line, error.loc.column) == (line, 15)
    assert error.loc.scope.endswith("test_interface.py")
    assert exceptions.GTScriptSyntaxError("text").loc is None


def test_tuples_of_the_grid() -> None:
    assert Index([1, 2, 3]) + 1 == (2, 3, 4)
    assert Index(1, 2, 3) - (1, 1, 1) == (0, 1, 2)
    assert Index.from_mask((4, 5), (True, False, True)) == (4, 0, 5)
    assert Shape([4, 5, 6]) & Shape([5, 5, 5]) == (4, 5, 5)
    assert Shape([4, 5, 6]).filter_mask((True, True, False)) == (4, 5)
    assert Boundary(((1, 2), (0, 0), (3, 4))).upper_indices == (2, 0, 4)


def test_files_in_which_the_words_need_no_import(tmp_path: Path) -> None:
    (tmp_path / "smoothing.gt.py").write_text(
        "# [GT] using-dsl: gtscript\n"
        "@stencil(backend='numpy')\n"
        "def smooth(inp: Field[float], out: Field[float]):\n"
        "    with computation(PARALLEL), interval(...):\n"
        "        out = 0.5 * (inp[-1, 0, 0] + inp[1, 0, 0])\n"
    )
    with fieldstone.gt4py.installed():
        from gt4py.cartesian import gtscript_imports

        with gtscript_imports.enabled(search_path=[tmp_path]):
            smooth = importlib.import_module("smoothing").smooth
    out = np.zeros((4, 3, 2))
    smooth(np.ones((4, 3, 2)), out)
    assert out.sum() == 12.0
    with pytest.raises(ImportError):
        importlib.import_module("smoothing")
