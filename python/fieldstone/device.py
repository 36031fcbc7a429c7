"""Devices: the host, the GPUs of the machine, and simulated ones.

A device is a place that holds data. `devices` lists what there is. Where there is no GPU, `simulated_device` makes
devices that are host memory and behave as if they were apart: a program's data movement can be tested and understood on
a laptop.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import SupportsIndex, overload

from fieldstone import _core
from fieldstone._core import Device, Graph, Stream, Transfers

__all__ = ["Device", "Graph", "Stream", "Transfers", "devices", "simulated_device"]


def devices() -> list[Device]:
    """List the devices there are: first the host, then the accelerators by number.

    Accelerators are those of the innermost `simulated_device` block, else what the environment variable
    ``FIELDSTONE_DEVICE`` asks for when the first of them is looked for: ``sim`` is a simulated device, ``sim:N`` are N
    of them; ``cuda``, or no such variable, the GPUs of the machine.

    Returns
    -------
    list of Device
        Its first element is the host.

    Raises
    ------
    DeviceError
        If ``FIELDSTONE_DEVICE`` is none of these.

    Examples
    --------
    >>> import fieldstone
    >>> fieldstone.devices()[0]
    <Device cpu: host>
    """
    return _core.devices()


@overload
def simulated_device(
    count: None = None, *, asynchronous: bool = False, memory: SupportsIndex | None = None
) -> AbstractContextManager[Device]: ...


@overload
def simulated_device(
    count: SupportsIndex, *, asynchronous: bool = False, memory: SupportsIndex | None = None
) -> AbstractContextManager[list[Device]]: ...


def simulated_device(
    count: SupportsIndex | None = None, *, asynchronous: bool = False, memory: SupportsIndex | None = None
) -> AbstractContextManager[Device | list[Device]]:
    """Put simulated devices in place of whatever accelerators there are, in the whole process, for a ``with`` block.

    A simulated device is host memory that only the functions of the device reach. It is no GPU, and as fast as the host
    is. New memory of it is poisoned (as floating-point numbers: NaN), and transfers between it and the host are
    counted, so it shows what a program would move and where it would read data that was never written or is out of
    date.

    Blocks can be nested; the innermost one counts. What was allocated in a block can be used after it.

    Parameters
    ----------
    count : int, optional
        How many, from 1 to 64; then the block gets the list of them. Default: one, and the block gets the device
        itself.
    asynchronous : bool, default: False
        Leave work undone until somebody waits for it, as a busy GPU does, so that whoever forgets to wait finds old
        data every time. Otherwise it is done at once.
    memory : int, optional
        Bytes of memory of each device. Default: as many as the host has.

    Raises
    ------
    ArgumentValueError, ArgumentTypeError
        If an argument is none of these.

    Examples
    --------
    >>> import fieldstone
    >>> with fieldstone.simulated_device() as gpu:
    ...     fieldstone.devices()
    [<Device cpu: host>, <Device gpu:0: simulated, no GPU>]
    >>> gpu.transfers
    Transfers(uploads=0, uploaded_bytes=0, downloads=0, downloaded_bytes=0)
    """
    simulation = _core.Simulation(1 if count is None else count, asynchronous, memory)
    return _one(simulation) if count is None else _several(simulation)


@contextmanager
def _several(simulation: _core.Simulation) -> Iterator[list[Device]]:
    try:
        yield simulation.start()
    finally:
        simulation.stop()


@contextmanager
def _one(simulation: _core.Simulation) -> Iterator[Device]:
    with _several(simulation) as found:
        yield found[0]
