"""Stencils of the backend gpu: what they move, where they run, and what they say when something is wrong."""

from __future__ import annotations

import gc
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fieldstone
from fieldstone import errors, gtscript, storage
from fieldstone.gtscript import FORWARD, PARALLEL, Field, computation, interval
from tests.devices.stencils import accumulate, scale

SHAPE = (40, 20, 6)
BYTES = 8 * 40 * 20 * 6
LINE = 256


@gtscript.stencil(backend="gpu")
def level(inp: Field[np.float64], number: Field[np.int64], out: Field[np.float64]):
    with computation(PARALLEL), interval(...):
        out = inp.at(K=number)


@gtscript.stencil(backend="gpu")
def smooth(inp: Field[np.float64], out: Field[np.float64]):
    with computation(PARALLEL), interval(...):
        along = inp[-1, 0, 0] + inp[1, 0, 0]
        out = along[0, -1, 0] + along[0, 1, 0]


@gtscript.stencil(backend="gpu")
def sweep(inp: Field[np.float64], out: Field[np.float64]):
    """Reads neighbours of what it has computed from the level below, so that it runs level by level."""
    with computation(FORWARD):
        with interval(0, 1):
            t = inp
            out = t[1, 0, 0]
        with interval(1, None):
            t = 0.5 * inp
            out = out[0, 0, -1] + t[1, 0, 0]


@pytest.fixture
def device() -> Iterator[Any]:
    with fieldstone.simulated_device() as device:
        yield device


@pytest.fixture(params=[False, True], ids=["at once", "when waited for"])
def either(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A device that works at once, and one that does so when somebody waits."""
    with fieldstone.simulated_device(asynchronous=request.param) as device:
        yield device


def moved(device: Any) -> tuple[int, int]:
    return device.transfers.uploads, device.transfers.downloads


def fields(count: int, **keywords: Any) -> list[Any]:
    keywords = {"device": "gpu", "defaults": "gpu", "dims": "IJK"} | keywords
    return [storage.full(SHAPE, float(n), **keywords) for n in range(1, count + 1)]


def there(count: int) -> list[Any]:
    """Storages without a copy on the host."""
    return fields(count, managed=False)


def on_host(field: Any) -> Any:
    return storage.storage(field, device="cpu").to_numpy()


class TestTransfers:
    @pytest.mark.parametrize("managed", [False, "cuda"])
    def test_a_chain_on_the_device_moves_nothing(self, either: Any, managed: Any) -> None:
        a, b, c = fields(3, managed=managed)
        either.transfers.reset()
        for _ in range(3):
            scale(a, b, 3.0)
            accumulate(c, b)
            accumulate(a, c)
        assert moved(either) == (0, 0)
        total, more = 1.0, 3.0
        for _ in range(3):
            more += 3.0 * total
            total += more
        np.testing.assert_array_equal(on_host(a), np.full(SHAPE, total))

    def test_two_copies_go_up_once_and_come_down_when_they_are_read(self, either: Any) -> None:
        a, b, c = fields(3)
        either.transfers.reset()
        for _ in range(5):
            scale(a, b, 2.0)
            scale(b, c, 2.0)
        assert either.transfers.downloads == 0
        assert (either.transfers.uploads, either.transfers.uploaded_bytes >= 3 * BYTES) == (3, True)
        assert b.sync_state.state == storage.SyncState.SYNC_DEVICE_DIRTY
        assert a.sync_state.state == storage.SyncState.SYNC_CLEAN
        assert (c.to_numpy() == 4.0).all()
        assert (c.to_numpy() == 4.0).all()
        assert moved(either) == (3, 1)
        a[...] = 5.0
        scale(a, b, 2.0)
        assert moved(either) == (4, 1)
        assert (b.to_numpy() == 10.0).all()

    def test_arrays_that_are_out_on_the_host_follow(self, device: Any) -> None:
        a, b = fields(2)
        seen, source = b.to_numpy(), a.to_numpy()
        for factor in (2.0, 3.0):
            scale(a, b, factor)
            assert (seen == factor).all()
        source[...] = 4.0
        scale(a, b, 2.0)
        assert (seen == 8.0).all()

    def test_arrays_in_host_memory_are_copied_with_a_warning(self, either: Any) -> None:
        a, b = np.full(SHAPE, 3.0), np.zeros(SHAPE)
        with pytest.warns(errors.TransferWarning) as caught:
            scale(a, b, 2.0)
        texts = [str(warning.message) for warning in caught]
        place, copied = (
            "is in host memory, and the stencil runs on the device",
            f"{BYTES} bytes are copied to the device",
        )
        assert [text.split(";")[0] for text in texts] == [
            f"argument 'inp' {place}: {copied} for this call",
            f"argument 'out' {place}: {copied} for this call, and back since it writes them",
        ]
        assert [warning.filename for warning in caught] == [__file__] * 2
        assert (b == 6.0).all()
        assert moved(either) == (2, 1)

    @pytest.mark.filterwarnings("ignore::fieldstone.errors.TransferWarning")
    def test_a_copy_back_touches_nothing_but_the_elements(self, either: Any) -> None:
        whole = np.zeros((SHAPE[0], 2 * SHAPE[1], SHAPE[2]))
        a = there(1)[0]
        scale(a, whole[:, ::2], 7.0)
        assert (whole[:, ::2] == 7.0).all()
        assert (whole[:, 1::2] == 0.0).all()
        both = np.ones((4, 4, 4))
        accumulate(both, both)
        assert (both == 2.0).all()

    @pytest.mark.filterwarnings("ignore::fieldstone.errors.TransferWarning")
    def test_arrays_of_the_host_that_overlap_do_so_on_the_device(self, either: Any) -> None:
        whole = np.arange(30.0).reshape(30, 1, 1)
        accumulate(whole[:10], whole[15:25])
        expected = np.arange(30.0).reshape(30, 1, 1)
        expected[:10] += expected[15:25]
        np.testing.assert_array_equal(whole, expected)
        with pytest.raises(errors.AliasError, match="arguments 'out' and 'inp' overlap"):
            scale(whole[:10], whole[5:15], 2.0)

    @pytest.mark.filterwarnings("ignore::fieldstone.errors.TransferWarning")
    def test_nothing_comes_back_of_a_call_that_fails(self, either: Any) -> None:
        a, b, out = np.ones(SHAPE), np.full(SHAPE, SHAPE[2]), np.zeros(SHAPE)
        with pytest.raises(errors.OutOfBoundsError, match="`inp` is accessed at a level that its array does not have"):
            level(a, b, out)
        assert (out == 0.0).all()
        b[...] = 2
        level(a, b, out)
        assert (out == 1.0).all()


class TestArguments:
    def test_arrays_of_the_device_are_used_as_they_are(self, either: Any) -> None:
        a, b = there(2)
        either.transfers.reset()
        scale(a.to_cupy(), b.to_cupy(), 5.0)
        assert moved(either) == (0, 0)
        assert (on_host(b) == 5.0).all()

    def test_objects_with_a_data_interface_say_where_and_are_told(self, device: Any) -> None:
        a, b = there(2)
        told: list[str] = []

        class Tensor:
            def __init__(self, name: str, field: Any) -> None:
                self.name, self.field = name, field

            @property
            def __gt_data_interface__(self) -> dict[Any, Any]:
                buffer = dict(self.field.__gt_data_interface__["gpu"])
                for hook in ("acquire", "touch", "release"):
                    buffer[hook] = lambda hook=hook: told.append(f"{hook} {self.name}")
                return {"gpu": buffer}

        scale(Tensor("a", a), Tensor("b", b), 5.0)
        assert told == ["acquire a", "acquire b", "touch b", "release a", "release b"]
        assert (on_host(b) == 5.0).all()

    def test_parts_and_other_orders_of_axes(self, device: Any) -> None:
        values = np.random.default_rng(3).uniform(size=SHAPE)
        a = storage.storage(values, device="gpu", defaults="C", dims="IJK")
        out = storage.zeros((6, 20, 40), device="gpu", defaults="F", dims="KJI")
        scale(a[::-1, 2:18:3], out[:, 2:18:3, ::-1], 2.0)
        expected = np.zeros((6, 20, 40))
        expected[:, 2:18:3, ::-1] = 2.0 * values[::-1, 2:18:3].transpose()
        np.testing.assert_array_equal(out.to_numpy(), expected)

    def test_halos_are_read_and_kept(self, either: Any) -> None:
        values = np.random.default_rng(4).uniform(size=SHAPE)
        a = storage.storage(values, device="gpu", defaults="gpu", dims="IJK", halo=(1, 1, 0))
        b = storage.zeros(SHAPE, device="gpu", defaults="gpu", dims="IJK", halo=(1, 1, 0))
        smooth(a, b)
        along = values[:-2] + values[2:]
        expected = np.zeros(SHAPE)
        expected[1:-1, 1:-1] = along[:, :-2] + along[:, 2:]
        np.testing.assert_array_equal(b.to_numpy(), expected)

    def test_a_domain_without_points_does_nothing(self, device: Any) -> None:
        a, b = there(2)
        scale(a, b, 5.0, domain=(0, 4, 4))
        assert (on_host(b) == 2.0).all()

    def test_no_device_is_an_error_that_says_what_to_do(self, monkeypatch: pytest.MonkeyPatch) -> None:
        if len(fieldstone.devices()) > 1:
            pytest.skip("there is one")
        with pytest.raises(errors.DeviceError, match=r"backend 'gpu': there is no GPU 0: .*FIELDSTONE_DEVICE"):
            scale(np.ones(SHAPE), np.ones(SHAPE), 2.0)

    def test_choices_of_processors_are_refused(self) -> None:
        with pytest.raises(errors.ArgumentValueError, match="'stores=cached' cannot be chosen for the backend 'gpu'"):
            gtscript.stencil("gpu", accumulate.definition_func, schedule={"stores": "cached"})


class TestDevices:
    def test_a_stencil_runs_where_its_arguments_are(self) -> None:
        with fieldstone.simulated_device(3):
            for number in (2, 0, 2, 1):
                a, b = (storage.full(SHAPE, float(n), device=("gpu", number), managed=False) for n in (1, 2))
                scale(a, b, number + 2.0)
                assert (on_host(b) == number + 2.0).all()

    def test_arguments_on_several_devices_are_named(self) -> None:
        with fieldstone.simulated_device(2):
            a, b = (storage.full(SHAPE, 1.0, device=("gpu", number)) for number in (0, 1))
            message = (
                "stencil 'scale': argument 'inp' is on simulated device 0 and argument 'out' on simulated device 1, "
                r"and a stencil runs on one device; copy one of them there, with storage\(data, device='gpu:0'\)"
            )
            with pytest.raises(errors.DeviceError, match=message):
                scale(a, b, 2.0)

    def test_calls_go_on_when_a_device_is_gone(self) -> None:
        for factor in (2.0, 3.0):
            with fieldstone.simulated_device():
                a, b = there(2)
                scale(a, b, factor)
            scale(a, b, factor + 2.0)
            assert (on_host(b) == factor + 2.0).all()

    def test_memory_of_a_device_runs_out(self) -> None:
        with fieldstone.simulated_device(memory=3 * BYTES), warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.TransferWarning)
            a = there(1)[0]
            with pytest.raises(MemoryError, match="simulated:0"):
                accumulate(np.ones((100, 100, 6)), np.ones((100, 100, 6)))
            accumulate(a, a)
            assert (on_host(a) == 2.0).all()

    def test_memory_that_is_given_up_stays_until_its_work_is_done(self) -> None:
        with fieldstone.simulated_device(asynchronous=True) as device:
            a, b, c = there(3)
            scale(a, b, 2.0)
            scale(b, c, 2.0)
            del a, b
            gc.collect()
            device.synchronize()
            assert (on_host(c) == 4.0).all()


class TestStreams:
    def test_a_stream_keeps_its_order_and_others_theirs(self) -> None:
        with fieldstone.simulated_device(asynchronous=True) as device:
            one, other = device.create_stream(), device.create_stream()
            assert one.ptr != other.ptr
            assert one.__cuda_stream__() == (0, one.ptr)
            a, b, c, d = there(4)
            for factor in (2.0, 3.0):
                scale(a, b, factor, stream=one)
                scale(c, d, factor, stream=other.ptr)
            accumulate(b, a, stream=one)
            accumulate(d, c, stream=other)
            one.synchronize()
            other.synchronize()
            assert (on_host(b) == 4.0).all()
            assert (on_host(d) == 12.0).all()

    def test_the_host_reads_what_a_stream_has_written(self) -> None:
        with fieldstone.simulated_device(asynchronous=True) as device:
            a, b = fields(2)
            for factor in (2.0, 3.0):
                scale(a, b, factor, stream=device.create_stream())
                assert (b.to_numpy() == factor).all()

    def test_streams_of_others_are_known_by_their_numbers(self, device: Any) -> None:
        stream = device.create_stream()

        class OfCuPy:
            ptr = stream.ptr

        class OfPyTorch:
            cuda_stream = stream.ptr

        a, b = there(2)
        for number, given in enumerate((OfCuPy(), OfPyTorch(), stream, stream.ptr, 0, None)):
            scale(a, b, float(number), stream=given)
            assert (on_host(b) == number).all()

    @pytest.mark.parametrize("given", ["0", True, 2.0, object()])
    def test_what_is_no_stream_is_refused(self, device: Any, given: Any) -> None:
        with pytest.raises(errors.ArgumentTypeError, match=r"stream is .*, expected a stream of fieldstone, CuPy or"):
            scale(*there(2), 2.0, stream=given)

    def test_a_stream_that_is_none_of_the_device_is_refused(self, device: Any) -> None:
        with pytest.raises(errors.DeviceError, match="stream 0x1234 is none of device 'simulated:0'"):
            scale(*there(2), 2.0, stream=0x1234)

    def test_stencils_on_the_host_have_no_stream(self) -> None:
        stencil = gtscript.stencil("numpy", accumulate.definition_func)
        with pytest.raises(errors.ArgumentTypeError, match="streams are for the backend 'gpu'"):
            stencil(np.ones(SHAPE), np.ones(SHAPE), stream=0)
        with pytest.raises(errors.DeviceError, match="the host has no streams"):
            fieldstone.devices()[0].create_stream()

    def test_temporaries_of_streams_do_not_meet(self) -> None:
        with fieldstone.simulated_device(asynchronous=True) as device:
            streams = [device.create_stream() for _ in range(4)]
            values = np.random.default_rng(5).uniform(size=(4, *SHAPE))
            inputs = [storage.storage(one, device="gpu", managed=False, dims="IJK") for one in values]
            outputs = [storage.zeros(SHAPE, device="gpu", managed=False, dims="IJK") for _ in values]
            place = {"origin": (1, 1, 0), "domain": (38, 18, 6)}
            for _ in range(3):
                for inp, out, stream in zip(inputs, outputs, streams, strict=True):
                    smooth(inp, out, stream=stream, **place)
            device.synchronize()
            for inp, out in zip(values, outputs, strict=True):
                along = inp[:-2] + inp[2:]
                np.testing.assert_array_equal(on_host(out)[1:-1, 1:-1], along[:, :-2] + along[:, 2:])


class TestGraphs:
    def test_calls_are_recorded_and_repeated(self, either: Any) -> None:
        a, b, c = there(3)
        graph = fieldstone.Graph()
        assert repr(graph) == "<Graph, not recorded>"
        frozen = accumulate.freeze(origin={"_all_": (0, 0, 0)}, domain=SHAPE)
        with graph:
            scale(a, b, 2.0)
            for _ in range(3):
                frozen(c, b)
        assert (on_host(c) == 3.0).all()
        assert (len(graph), repr(graph)) == (4, f"<Graph of 4 call(s) on {either.name}>")
        stream = either.create_stream()
        for _ in range(2):
            graph.launch(stream=stream)
        graph.launch()
        assert (on_host(c) == 3.0 + 3 * 3 * 2.0).all()

    def test_two_copies_go_where_they_are_needed(self, either: Any) -> None:
        a, b = fields(2)
        with fieldstone.Graph() as graph:
            scale(a, b, 2.0)
        graph.launch()
        either.transfers.reset()
        for value in (3.0, 4.0):
            a[...] = value
            graph.launch()
            graph.launch()
            assert (on_host(b) == 2.0 * value).all()
        assert moved(either) == (2, 2)

    def test_temporaries_in_memory_and_levels_one_by_one(self, either: Any) -> None:
        values = np.random.default_rng(6).uniform(size=SHAPE)
        a = storage.storage(values, device="gpu", dims="IJK")
        out, expected = storage.zeros(SHAPE, device="gpu", dims="IJK"), np.zeros(SHAPE)
        place = {"origin": (1, 1, 0), "domain": (38, 18, 6)}
        for definition in (smooth, sweep):
            graph = fieldstone.Graph()
            with graph:
                definition(a, out, **place)
            gtscript.stencil("numpy", definition.definition_func)(values, expected, **place)
            for _ in range(2):
                out[...] = 0.0
                graph.launch()
                np.testing.assert_array_equal(out.to_numpy()[1:-1, 1:-1], expected[1:-1, 1:-1])

    def test_arguments_are_kept(self, either: Any) -> None:
        a, b, c = there(3)
        with fieldstone.Graph() as graph:
            scale(a, b, 2.0)
            accumulate(c.to_cupy(), b)
        del a, b
        gc.collect()
        graph.launch()
        assert (on_host(c) == 5.0).all()
        with fieldstone.Graph() as empty:
            pass
        empty.launch()
        assert len(empty) == 0

    def test_what_cannot_be_part_of_a_graph_is_refused(self, device: Any) -> None:
        a, b = there(2)
        numbers = storage.zeros(SHAPE, np.int64, device="gpu")
        on_cpu = gtscript.stencil("numpy", accumulate.definition_func)
        for call, message in (
            (lambda: scale(np.ones(SHAPE), b, 2.0), "argument 'inp' is in host memory"),
            (lambda: level(a, numbers, b), "a call that may fail cannot be part of a graph"),
            (lambda: on_cpu(np.ones(SHAPE), np.ones(SHAPE)), "'accumulate' runs on the host"),
            (lambda: fieldstone.Graph().__enter__(), "graphs are not nested"),
        ):
            graph = fieldstone.Graph()
            with pytest.raises(errors.FieldstoneError, match=message), graph:
                call()
            assert repr(graph) == "<Graph, not recorded to its end>"
            with pytest.raises(errors.ArgumentTypeError, match="an error ended the block"):
                graph.launch()
        # Nothing goes on being recorded.
        scale(a, b, 7.0)
        assert (on_host(b) == 7.0).all()

    def test_a_graph_is_recorded_once_and_for_one_device(self) -> None:
        graph = fieldstone.Graph()
        with pytest.raises(errors.ArgumentTypeError, match="has not been recorded"):
            graph.launch()
        with fieldstone.simulated_device(2):
            pairs = [[storage.ones(SHAPE, device=("gpu", number)) for _ in "ab"] for number in (0, 1)]
            with graph:
                accumulate(*pairs[0])
            with pytest.raises(errors.ArgumentTypeError, match="recorded once"), graph:
                pass
            both = "its first call runs on simulated device 0, and this one on simulated device 1"
            with fieldstone.Graph():
                accumulate(*pairs[0])
                with pytest.raises(errors.DeviceError, match=both):
                    accumulate(*pairs[1])

    def test_other_threads_are_not_recorded(self, device: Any) -> None:
        a, b = there(2)
        with fieldstone.Graph() as graph:
            thread = threading.Thread(target=scale, args=(a, b, 3.0))
            thread.start()
            thread.join()
        assert (on_host(b) == 3.0).all()
        assert len(graph) == 0


class TestFaces:
    def test_an_llvm_without_the_target_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from fieldstone import _jit

        def no_target(triple: str) -> None:
            raise RuntimeError(f"No available targets are compatible with triple {triple!r}")

        monkeypatch.setattr(_jit.llvm.Target, "from_triple", no_target)
        with pytest.raises(errors.CompilationError, match="was built without the target 'nvptx64', which the backend"):
            smooth.inspect("ptx")

    def test_times_are_those_of_the_work(self, either: Any) -> None:
        a, b = there(2)
        times: dict[str, Any] = {}
        scale(a, b, 2.0, exec_info=times)
        assert times["run_cpp_start_time"] <= times["run_cpp_end_time"] <= times["call_end_time"]
        assert times["domain"] == SHAPE

    def test_frozen_calls(self, either: Any) -> None:
        a, b = fields(2)
        frozen = scale.freeze(origin={"_all_": (0, 0, 0)}, domain=SHAPE)
        for factor in (2.0, 3.0, 4.0):
            frozen(a, b, factor)
        assert (b.to_numpy() == 4.0).all()

    def test_every_form_can_be_looked_at(self, device: Any) -> None:
        made = gtscript.stencil("gpu", smooth.definition_func)
        assert ".visible .entry" in made.inspect("ptx")
        assert ".target sm_70" in made.inspect("ptx")
        assert "i64 %begin, i64 %end" in made.inspect("llvm")
        assert made.inspect("schedule")
        assert made.inspect("ptx").startswith("// inp=I out=I\n")
        with pytest.raises(errors.ArgumentValueError, match="form 'ptx' exists for the backend gpu only"):
            gtscript.stencil("cpu_ifirst", smooth.definition_func).inspect("ptx")

    def test_code_is_made_ahead_and_found_again(self, device: Any, tmp_path: Any) -> None:
        options = {"cache_settings": {"root_path": str(tmp_path)}}
        made = gtscript.stencil("gpu", smooth.definition_func, **options).compile()
        assert [cached for cached, _ in made._compilations] == [False]
        again = gtscript.stencil("gpu", smooth.definition_func, raise_if_not_cached=True, **options).compile()
        assert [cached for cached, _ in again._compilations] == [True]
        with pytest.raises(errors.CacheError, match="has no code of it"):
            gtscript.stencil("gpu", accumulate.definition_func, raise_if_not_cached=True, **options)
