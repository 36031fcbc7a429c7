"""Transfers of storages go beside kernels: each waits for what it must wait for, and for nothing else.

An asynchronous simulated device does nothing before somebody waits for it, and then no more than that needs. So what is
undone after a look at a result is what did not have to be waited for; and whoever forgets to wait finds old values each
time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldstone
from fieldstone import storage
from tests.devices.stencils import accumulate, scale

SHAPE = (5, 4, 3)
KERNEL = "fieldstone_kernel_0 of stencil"


@pytest.fixture
def gpu() -> Iterator[Any]:
    with fieldstone.simulated_device(asynchronous=True) as device:
        yield device


def fields(count: int) -> list[Any]:
    """Storages with two copies that are equal and hold 1, 2, …"""
    found = [storage.full(SHAPE, float(n), device="gpu", defaults="gpu", dims="IJK") for n in range(1, count + 1)]
    for one in found:
        one.synchronize()
    fieldstone.devices()[1].synchronize()
    return found


def value(one: Any) -> float:
    """What is in all elements, on the host."""
    (found,) = set(one.to_numpy().flat)
    return float(found)


class TestWhatIsWaitedFor:
    def test_a_read_waits_for_the_kernel_that_wrote_the_storage_and_not_for_later_ones(self, gpu: Any) -> None:
        a, b, c, d = fields(4)
        scale(a, b, 5.0)
        accumulate(c, d)
        scale(d, a, 7.0)
        assert gpu.undone == [f"{KERNEL} 'scale'", f"{KERNEL} 'accumulate'", f"{KERNEL} 'scale'"]
        assert value(b) == 5.0
        assert gpu.undone == [f"{KERNEL} 'accumulate'", f"{KERNEL} 'scale'"]
        assert value(c) == 7.0
        assert gpu.undone == [f"{KERNEL} 'scale'"]

    def test_a_storage_that_kernels_only_read_is_not_waited_for(self, gpu: Any) -> None:
        a, b, c = fields(3)
        scale(a, b, 5.0)
        accumulate(c, b)
        assert value(b) == 5.0
        assert gpu.undone == [f"{KERNEL} 'accumulate'"]
        assert (value(a), value(b)) == (1.0, 5.0)
        assert gpu.undone == [f"{KERNEL} 'accumulate'"]

    def test_an_upload_and_its_kernel_do_not_wait_for_kernels_with_other_arguments(self, gpu: Any) -> None:
        a, b, c, d = fields(4)
        other = gpu.create_stream()
        long = gpu.create_stream()
        scale(a, b, 5.0, stream=long)
        c[...] = 9.0
        scale(c, d, 2.0, stream=other)
        assert gpu.undone == [f"{KERNEL} 'scale'", "copy", f"{KERNEL} 'scale'"]
        assert value(d) == 18.0
        assert gpu.undone == [f"{KERNEL} 'scale'"]
        assert value(b) == 5.0

    def test_values_are_sent_ahead_while_a_kernel_runs(self, gpu: Any) -> None:
        a, b, c, d = fields(4)
        scale(a, b, 5.0)
        c[...] = 9.0
        c.host_to_device()
        assert gpu.undone == [f"{KERNEL} 'scale'", "copy"]
        # To write on the host anew waits for the upload, which reads there, and for that only.
        c[...] = 10.0
        assert gpu.undone == [f"{KERNEL} 'scale'"]
        accumulate(d, c)
        assert value(d) == 14.0

    def test_an_upload_waits_for_the_kernels_that_read_what_it_replaces(self, gpu: Any) -> None:
        a, b, c, d = fields(4)
        streams = [gpu.create_stream() for _ in range(3)]
        scale(a, b, 5.0, stream=streams[0])
        scale(a, c, 6.0, stream=streams[1])
        a[...] = 100.0
        scale(a, d, 7.0, stream=streams[2])
        assert (value(d), value(b), value(c)) == (700.0, 5.0, 6.0)

    def test_kernels_in_several_streams_are_in_order_where_they_share_a_storage(self, gpu: Any) -> None:
        a, b, c, d = fields(4)
        one, other, third = (gpu.create_stream() for _ in range(3))
        scale(d, d, 2.0, stream=third)
        scale(a, b, 5.0, stream=one)
        accumulate(c, b, stream=other)
        scale(c, b, 2.0, stream=one)
        assert value(b) == 16.0
        assert gpu.undone == [f"{KERNEL} 'scale'"]
        assert value(d) == 8.0

    def test_a_kernel_waits_for_those_that_read_what_it_writes(self, gpu: Any) -> None:
        a, b, c = fields(3)
        scale(a, b, 5.0, stream=gpu.create_stream())
        scale(c, a, 2.0, stream=gpu.create_stream())
        assert (value(a), value(b)) == (6.0, 5.0)

    def test_a_download_waits_for_the_upload_before_it(self, gpu: Any) -> None:
        (a,) = fields(1)
        a[...] = 9.0
        a.host_to_device()
        a.device_to_host(force=True)
        assert value(a) == 9.0

    def test_a_graph_is_waited_for_as_a_kernel_is(self, gpu: Any) -> None:
        a, b, c, d = fields(4)
        with fieldstone.Graph() as graph:
            scale(a, b, 5.0)
            accumulate(b, a)
        scale(c, d, 2.0)
        graph.launch(stream=gpu.create_stream())
        accumulate(d, d)
        a[...] = 10.0
        graph.launch()
        a[...] = 20.0
        assert value(b) == 60.0
        assert value(d) == 12.0

    def test_arrays_that_are_out_on_the_device_are_written_to_at_any_time(self, gpu: Any) -> None:
        a, b, c = fields(3)
        out = b.to_cupy()
        scale(a, out, 5.0, stream=gpu.create_stream())
        assert value(b) == 5.0
        b[...] = 6.0
        accumulate(c, out)
        assert value(c) == 9.0

    def test_storages_that_go_leave_their_work_behind(self, gpu: Any) -> None:
        a, b, c = fields(3)
        for _ in range(3):
            more = storage.full(SHAPE, 5.0, device="gpu", defaults="gpu", dims="IJK")
            scale(more, b, 2.0, stream=gpu.create_stream())
            accumulate(c, b)
            del more
        assert value(c) == 33.0
        assert value(a) == 1.0


STREAMS = 3
STORAGES = 4


def a_gpu() -> AbstractContextManager[Any]:
    """That of the machine, if it is asked for, else one that works late."""
    if os.environ.get("FIELDSTONE_TEST_DEVICE") == "cuda":
        return nullcontext(fieldstone.devices()[1])
    return fieldstone.simulated_device(asynchronous=True)


@dataclass
class Program:
    """A random program with storages on a device that works late, beside the same with numbers."""

    gpu: Any
    stored: list[Any] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    held: list[tuple[int, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.streams = [None, *(self.gpu.create_stream() for _ in range(STREAMS - 1))]
        self.stored = fields(STORAGES)
        self.numbers = [float(n) for n in range(1, STORAGES + 1)]
        with fieldstone.Graph() as self.graph:
            scale(self.stored[0], self.stored[1], 0.5)
            accumulate(self.stored[2], self.stored[1])

    def scale(self, one: int, other: int, stream: int) -> None:
        if one != other:
            scale(self.stored[one], self.stored[other], 0.5, stream=self.streams[stream])
            self.numbers[other] = 0.5 * self.numbers[one]

    def accumulate(self, one: int, other: int, stream: int) -> None:
        accumulate(self.stored[one], self.stored[other], stream=self.streams[stream])
        self.numbers[one] += self.numbers[other]

    def launch(self, one: int, other: int, stream: int) -> None:
        self.graph.launch(stream=self.streams[stream])
        self.numbers[1] = 0.5 * self.numbers[0]
        self.numbers[2] += self.numbers[1]

    def write(self, one: int, other: int, stream: int) -> None:
        self.stored[one][...] = float(other)
        self.numbers[one] = float(other)

    def add(self, one: int, other: int, stream: int) -> None:
        self.stored[one].to_numpy()[...] += 1.0
        self.numbers[one] += 1.0

    def read(self, one: int, other: int, stream: int) -> None:
        assert value(self.stored[one]) == self.numbers[one]

    def transfer(self, one: int, other: int, stream: int) -> None:
        (self.stored[one].host_to_device, self.stored[one].device_to_host)[other % 2]()

    def hold(self, one: int, other: int, stream: int) -> None:
        """Keep an array of the host, which follows what kernels write, or give one up."""
        if self.held:
            number, array = self.held.pop()
            assert (array == self.numbers[number]).all()
        else:
            self.held.append((one, self.stored[one].to_numpy()))

    def on_device(self, one: int, other: int, stream: int) -> None:
        """Write through an array of the device's copy, as a library would in the default stream."""
        if one != other:
            scale(self.stored[one], self.stored[other].to_cupy(), 3.0)
            self.numbers[other] = 3.0 * self.numbers[one]

    def forget_stream(self, one: int, other: int, stream: int) -> None:
        if stream:
            self.streams[stream] = self.gpu.create_stream()

    def check(self) -> None:
        assert [value(one) for one in self.stored] == self.numbers


STEPS = (
    Program.scale,
    Program.scale,
    Program.accumulate,
    Program.accumulate,
    Program.launch,
    Program.write,
    Program.write,
    Program.add,
    Program.read,
    Program.transfer,
    Program.hold,
    Program.on_device,
    Program.forget_stream,
)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(STEPS),
            st.integers(0, STORAGES - 1),
            st.integers(0, STORAGES - 1),
            st.integers(0, STREAMS - 1),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_nothing_is_ever_stale(steps: list[tuple[Any, int, int, int]]) -> None:
    with a_gpu() as gpu:
        program = Program(gpu)
        for step, one, other, stream in steps:
            step(program, one, other, stream)
        program.check()
