"""Storages: arrays that know their dimensions, their halo and how they lie in memory.

`empty`, `zeros`, `ones` and `full` allocate a storage of a shape, their ``_like`` forms one that is like another,
`storage` copies data, and `as_storage` wraps memory that exists. What lies where is said by keyword arguments, the
`Parameters`, which all of them take.

A parameter that is not given is looked up: first in the preset that `defaults` names, then in the data or the template,
then a fallback is taken.

Examples
--------
>>> from fieldstone import storage
>>> field = storage.zeros((70, 70, 40), dims="IJK", halo=(3, 3, 0), defaults="cpu_ifirst")
>>> field.layout
(2, 1, 0)
>>> field.domain_view.shape
(64, 64, 40)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, SupportsIndex, TypeAlias, TypedDict, Unpack

from fieldstone import _core
from fieldstone._core import (
    CPUStorage,
    CUDAManagedGPUStorage,
    Device,
    GPUStorage,
    SimulatedArray,
    SoftwareManagedGPUStorage,
    Storage,
    SyncState,
)
from fieldstone._repr.options import set_repr

__all__ = [
    "CPUStorage",
    "CUDAManagedGPUStorage",
    "CUDASyncedGPUStorage",
    "CudaManagedGPUStorage",
    "GPUStorage",
    "GT4PySyncedGPUStorage",
    "Parameters",
    "SimulatedArray",
    "SoftwareManagedGPUStorage",
    "Storage",
    "SyncState",
    "as_storage",
    "asstorage",
    "empty",
    "empty_like",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "register_preset",
    "set_repr",
    "storage",
    "zeros",
    "zeros_like",
]

# The same classes by the other names that GDP 3 has for them.
GT4PySyncedGPUStorage = SoftwareManagedGPUStorage
CUDASyncedGPUStorage = CUDAManagedGPUStorage
CudaManagedGPUStorage = CUDAManagedGPUStorage

Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
Dims: TypeAlias = str | Sequence[str]
Halo: TypeAlias = Sequence[SupportsIndex | Sequence[SupportsIndex]]
Place: TypeAlias = str | tuple[str, SupportsIndex] | Device


class Parameters(TypedDict, total=False):
    """Keyword arguments of every function that makes a storage; ``None`` is the same as leaving one out.

    Attributes
    ----------
    aligned_index : sequence of int
        Index of the point whose address is aligned. Fallback: the lower halo.
    alignment_size : int
        The address of that point, and of the points beside it in every line along the axis with the smallest stride of
        those with more than one point, is a multiple of this many bytes. Fallback: 1, no alignment.
    defaults : str
        Name of a preset for layout, alignment and device: ``"C"`` and ``"F"`` as in NumPy; by the meaning of the axes,
        whatever their order, ``"debug"``, ``"numpy"`` and ``"cpu_kfirst"`` (K contiguous), ``"cpu_ifirst"`` and
        ``"gpu"`` (I contiguous). Aliases: ``"gtx86"``, ``"gt:cpu_kfirst"``; ``"gtmc"``, ``"gt:cpu_ifirst"``;
        ``"gtcuda"``, ``"gt:gpu"``, ``"cuda"``.
    device : {"cpu", "gpu"}, "gpu:N", ("gpu", N) or Device
        Whether there is to be memory on a device, and on which. Fallback: ``"cpu"``, none.
    dims : str or sequence of str
        Labels of the axes: ``"I"``, ``"J"``, ``"K"``, and ``"0"``, ``"1"``, ... for data dimensions. Without labels the
        axes are known by position only, and presets take them for I, J, K, 0, 1, ...
    halo : sequence of int or of (int, int)
        Points below and above the compute domain along each axis; one integer means both sides. Fallback: none.
    layout : sequence of int or callable
        The order of the strides: the axis with entry 0 has the largest one, the axis with the largest entry the
        smallest. A callable is called with the labels and returns the layout. Fallback: C order.
    managed : {None, False, "gt4py", "cuda"}
        Who keeps memory on host and device equal, where there is to be some on a device: nobody, there is none on the
        host (None or False); fieldstone, which has two copies and moves what is needed; or the driver, which moves one
        between both. Here None does not mean that it is left out. Fallback: ``"gt4py"``.
    default_origin : sequence of int
        Where the compute domain begins in a call that does not say otherwise. Also `aligned_index` and the lower halo,
        if those are not given. Three entries for I, J and K are reduced to those of them that the storage has.
    alignment : int
        `alignment_size` in elements.
    axes : str or sequence of str
        `dims`. A shape of three entries for I, J and K is reduced to the axes given.
    default_parameters : str
        `defaults`.
    gpu : bool
        True for the `device` ``"gpu"``, False for ``"cpu"``.
    layout_map : sequence of int or callable
        `layout`; a callable is called with the number of axes.

    Notes
    -----
    The last five are the names that the first draft of GDP 3 has. Giving both names of a parameter is an error.

    Raises
    ------
    fieldstone.errors.ArgumentTypeError, fieldstone.errors.ArgumentValueError
        The base classes of what is raised for a wrong argument; they are a `TypeError` and a `ValueError`.
    """

    aligned_index: Sequence[SupportsIndex] | None
    alignment_size: SupportsIndex | None
    defaults: str | None
    device: Place | None
    dims: Dims | None
    halo: Halo | None
    layout: Sequence[SupportsIndex] | Callable[[tuple[str, ...]], Sequence[int]] | None
    managed: Literal[False, "gt4py", "cuda"] | None
    alignment: SupportsIndex | None
    axes: Dims | None
    default_origin: Sequence[SupportsIndex] | None
    default_parameters: str | None
    gpu: bool | None
    layout_map: Sequence[SupportsIndex] | Callable[[int], Sequence[int]] | None


def empty(shape: Shape, dtype: Any = None, **parameters: Unpack[Parameters]) -> Storage:
    """Allocate a storage with undefined values.

    Parameters
    ----------
    shape : int or sequence of int
        Number of points along each axis, halo included.
    dtype : dtype_like, default float64
        Type of the elements. A pair such as ``(float, (3,))`` adds data dimensions to the shape.
    **parameters
        See `Parameters`.
    """
    return _core.allocate("empty", shape, dtype, None, parameters)


def zeros(shape: Shape, dtype: Any = None, **parameters: Unpack[Parameters]) -> Storage:
    """Allocate a storage filled with 0.

    Parameters
    ----------
    shape : int or sequence of int
        Number of points along each axis, halo included.
    dtype : dtype_like, default float64
        Type of the elements. A pair such as ``(float, (3,))`` adds data dimensions to the shape.
    **parameters
        See `Parameters`.
    """
    return _core.allocate("zeros", shape, dtype, 0, parameters)


def ones(shape: Shape, dtype: Any = None, **parameters: Unpack[Parameters]) -> Storage:
    """Allocate a storage filled with 1.

    Parameters
    ----------
    shape : int or sequence of int
        Number of points along each axis, halo included.
    dtype : dtype_like, default float64
        Type of the elements. A pair such as ``(float, (3,))`` adds data dimensions to the shape.
    **parameters
        See `Parameters`.
    """
    return _core.allocate("ones", shape, dtype, 1, parameters)


def full(
    shape: Shape, fill_value: Any = None, dtype: Any = None, *, value: Any = None, **parameters: Unpack[Parameters]
) -> Storage:
    """Allocate a storage filled with one value.

    Parameters
    ----------
    shape : int or sequence of int
        Number of points along each axis, halo included.
    fill_value : number
        What every element is set to.
    dtype : dtype_like, default float64
        Type of the elements. A pair such as ``(float, (3,))`` adds data dimensions to the shape.
    value : number
        The name of `fill_value` in the first draft of GDP 3.
    **parameters
        See `Parameters`.
    """
    return _core.allocate("full", shape, dtype, _core.one_value("full", fill_value, value), parameters)


def empty_like(data: Any, dtype: Any = None, **parameters: Unpack[Parameters]) -> Storage:
    """Allocate a storage like another, with undefined values.

    Parameters
    ----------
    data : storage or array_like
        What the shape, and every parameter not given, are taken from.
    dtype : dtype_like, optional
        Type of the elements; that of `data` if not given.
    **parameters
        See `Parameters`.
    """
    return _core.allocate_like("empty_like", data, dtype, None, parameters)


def zeros_like(data: Any, dtype: Any = None, **parameters: Unpack[Parameters]) -> Storage:
    """Allocate a storage like another, filled with 0.

    Parameters
    ----------
    data : storage or array_like
        What the shape, and every parameter not given, are taken from.
    dtype : dtype_like, optional
        Type of the elements; that of `data` if not given.
    **parameters
        See `Parameters`.
    """
    return _core.allocate_like("zeros_like", data, dtype, 0, parameters)


def ones_like(data: Any, dtype: Any = None, **parameters: Unpack[Parameters]) -> Storage:
    """Allocate a storage like another, filled with 1.

    Parameters
    ----------
    data : storage or array_like
        What the shape, and every parameter not given, are taken from.
    dtype : dtype_like, optional
        Type of the elements; that of `data` if not given.
    **parameters
        See `Parameters`.
    """
    return _core.allocate_like("ones_like", data, dtype, 1, parameters)


def full_like(
    data: Any, fill_value: Any = None, dtype: Any = None, *, value: Any = None, **parameters: Unpack[Parameters]
) -> Storage:
    """Allocate a storage like another, filled with one value.

    Parameters
    ----------
    data : storage or array_like
        What the shape, and every parameter not given, are taken from.
    fill_value : number
        What every element is set to.
    dtype : dtype_like, optional
        Type of the elements; that of `data` if not given.
    value : number
        The name of `fill_value` in the first draft of GDP 3.
    **parameters
        See `Parameters`.
    """
    return _core.allocate_like("full_like", data, dtype, _core.one_value("full_like", fill_value, value), parameters)


def as_storage(
    data: Any = None,
    device_data: Any = None,
    *,
    shape: Shape | None = None,
    dtype: Any = None,
    sync_state: Any = None,
    **parameters: Unpack[Parameters],
) -> Storage:
    """Wrap memory that exists in a storage, without a copy.

    The storage keeps `data` alive. Parameters that contradict the memory are an error: its layout, alignment and type
    are what they are.

    Parameters
    ----------
    data : storage, array, or object of the data interface
        A storage, an object with ``__gt_data_interface__``, or whatever `numpy.asarray` takes without a copy. Without
        data, a storage of `shape` with undefined values is allocated.
    shape : int or sequence of int, optional
        Needed without data; if given with it, it must be that of the data.
    dtype : dtype_like, optional
        Type of the elements; if given with data, it must be that of the data. Fallback: float64.
    device_data : storage, array, or object of the data interface, optional
        Memory of a device. With `data`, the storage is around both (``managed="gt4py"``).
    sync_state : SyncState, optional
        Which of two copies is newer; both are equal if it is not given. For buffers that were taken from a storage it
        has to be the one of that storage.
    **parameters
        See `Parameters`.

    Raises
    ------
    fieldstone.errors.ArgumentTypeError
        If `data` has no memory that can be used as it is, such as a list.
    """
    keywords = parameters if shape is None else {**parameters, "shape": shape}
    return _core.storage("as_storage", data, device_data, dtype, False, sync_state, keywords)


asstorage = as_storage


def storage(
    data: Any = None,
    device_data: Any = None,
    *,
    shape: Shape | None = None,
    dtype: Any = None,
    copy: bool = True,
    sync_state: Any = None,
    **parameters: Unpack[Parameters],
) -> Storage:
    """Allocate a storage with a copy of data, or wrap the data.

    Parameters
    ----------
    data : storage or array_like
        What the values, and every parameter not given, are taken from.
    shape : int or sequence of int, optional
        Needed without data, and only with ``copy=False``; if given with data, it must be that of the data.
    dtype : dtype_like, optional
        Type of the elements; that of `data` if not given.
    copy : bool, default True
        If false, the same as `as_storage`.
    device_data : storage, array, or object of the data interface, optional
        Memory of a device. With `data`, the new storage has two copies (``managed="gt4py"``).
    sync_state : SyncState, optional
        Which of `data` and `device_data` is newer; both are equal if it is not given.
    **parameters
        See `Parameters`.
    """
    keywords = parameters if shape is None else {**parameters, "shape": shape}
    return _core.storage("storage", data, device_data, dtype, copy, sync_state, keywords)


def register_preset(
    name: str,
    order: Dims,
    *,
    alignment_size: SupportsIndex = 1,
    device: Place | None = None,
) -> None:
    """Add a preset to those that ``defaults`` and ``backend`` can name.

    Parameters
    ----------
    name : str
        How it is called; a name that is taken is an error.
    order : {"C", "F"} or sequence of str
        The order of the strides: by position as in NumPy, or I, J and K from the largest stride to the smallest. Data
        dimensions have larger strides than these.
    alignment_size : int, default 1
        The address of the aligned index is a multiple of this many bytes.
    device : {"cpu", "gpu"}, optional
        Where to allocate.

    Raises
    ------
    fieldstone.errors.PresetError
        If there is a preset of this name.
    """
    _core.register_preset(name, order, alignment_size, device)
