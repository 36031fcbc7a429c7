"""xarray ``DataArray`` objects as fields.

A ``DataArray`` may be passed to a stencil as it is. Its dims say which axis is which: ``"I"``, ``"J"``, ``"K"`` mean
themselves; other names are looked up in the mapping of :func:`set_dims`, then in the CF metadata of the coordinates
(``axis`` attributes, standard names and units, as ``cf_xarray`` reads them): X or longitude is I, Y or latitude is J,
Z or vertical is K.

Importing this module imports xarray and gives ``DataArray`` the attribute ``__gt_data_interface__``. It need not be
done by hand: it is imported as soon as both fieldstone and xarray have been.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldstone._core import Storage
from fieldstone.errors import ArgumentTypeError, DimensionsError

if TYPE_CHECKING:
    from xarray import DataArray

__all__ = ["data_interface", "get_dims", "register", "set_dims"]

_CF_AXES = {"X": "I", "longitude": "I", "Y": "J", "latitude": "J", "Z": "K", "vertical": "K"}

# Attributes of what has its data in memory.
_MEMORY = ("__gt_data_interface__", "__gt_interface__", "__array_interface__", "__cuda_array_interface__")

_mapping: dict[str, str] = {}

# What dims mean that need no metadata: of the dims of arrays that were passed since the mapping changed last.
_meanings: dict[tuple[object, ...], tuple[str, ...]] = {}

# What the metadata of coordinates was found to mean.
_known: dict[object, dict[str, set[str]]] = {}
_MOST_KNOWN = 256


class set_dims:  # noqa: N801 - used like a function, as xarray.set_options
    """Say what the dims of xarray objects mean, for good or within a ``with`` block.

    Parameters
    ----------
    mapping : mapping of str to str
        From the name of a dim to ``"I"``, ``"J"``, ``"K"``, or a decimal number for a data dimension. Added to what
        was set before.

    Raises
    ------
    ArgumentTypeError
        If it is no mapping.
    DimensionsError
        If a value is none of these.

    Examples
    --------
    >>> import fieldstone.xarray
    >>> with fieldstone.xarray.set_dims({"lon": "I", "lat": "J", "lev": "K"}):
    ...     pass
    """

    def __init__(self, mapping: Mapping[str, str]) -> None:
        global _mapping
        if not isinstance(mapping, Mapping):
            raise ArgumentTypeError(f"set_dims: expected a mapping such as {{'lon': 'I'}}, not {mapping!r}")
        for name, label in mapping.items():
            if not _is_label(label):
                raise DimensionsError(
                    f"set_dims: dim {name!r} is mapped to {label!r}, "
                    "expected 'I', 'J', 'K', or a number for a data dimension"
                )
        self._before = _mapping
        _mapping = {**_mapping, **mapping}
        _meanings.clear()

    def __enter__(self) -> set_dims:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        global _mapping
        _mapping = self._before
        _meanings.clear()


def _is_label(label: object) -> bool:
    return isinstance(label, str) and (label in ("I", "J", "K") or label.isdecimal())


def get_dims(
    array: DataArray, mapping: Mapping[str, str] | None = None, *, argument: str = "", labelled: bool = False
) -> tuple[str, ...]:
    """Tell what each dim of a ``DataArray`` means.

    Parameters
    ----------
    array : xarray.DataArray
        The array.
    mapping : mapping of str to str, optional
        Asked before the mapping of :func:`set_dims`.
    argument : str, optional
        Name of the argument, for messages.
    labelled : bool, default False
        Whether the user can say it by a parameter ``dims``, for messages.

    Returns
    -------
    tuple of str
        ``"I"``, ``"J"``, ``"K"``, or decimal numbers for data dimensions, in the order of the dims.

    Raises
    ------
    DimensionsError
        If the meaning of a dim is unknown or ambiguous, or two dims mean the same.
    """
    known = {**_mapping, **(mapping or {})}
    labels: dict[str, set[str]] = {}
    cf: dict[str, set[str]] | None = None
    for dim in map(str, array.dims):
        if dim in known:
            labels[dim] = {known[dim]}
        elif _is_label(dim):
            labels[dim] = {dim}
        else:
            cf = _cf_labels(array) if cf is None else cf
            labels[dim] = cf.get(dim, set())
    found = [next(iter(meanings)) if len(meanings) == 1 else None for meanings in labels.values()]
    if None in found or len(set(found)) < len(found):
        raise DimensionsError(_problem(array, labels, argument, labelled))
    return tuple(label for label in found if label is not None)


def _cf_labels(array: DataArray) -> dict[str, set[str]]:
    """Look for axes in the metadata of the coordinates that extend along one dim each."""
    # cf_xarray takes milliseconds, a call of a stencil microseconds.
    key = tuple(
        (name, variable.dims, tuple((key, value) for key, value in variable.attrs.items() if isinstance(value, str)))
        for name, variable in array.coords.variables.items()
        if variable.ndim == 1
    )
    labels = _known.get(key)
    if labels is None:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        labels = _known[key] = _read_cf_labels(array)
    return labels


def _read_cf_labels(array: DataArray) -> dict[str, set[str]]:
    try:
        import cf_xarray  # noqa: F401 - registers the accessor
    except ImportError:
        groups: Mapping[str, list[str]] = _axis_attributes(array)
    else:
        groups = {**array.cf.coordinates, **array.cf.axes}
    labels: dict[str, set[str]] = {}
    for group, names in groups.items():
        for name in names:
            if group in _CF_AXES and name in array.coords and array.coords[name].ndim == 1:
                labels.setdefault(str(array.coords[name].dims[0]), set()).add(_CF_AXES[group])
    return labels


def _axis_attributes(array: DataArray) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name, coordinate in array.coords.items():
        for key in (coordinate.attrs.get("axis"), coordinate.attrs.get("standard_name")):
            if key in _CF_AXES:
                groups.setdefault(key, []).append(str(name))
    return groups


def _problem(array: DataArray, labels: Mapping[str, set[str]], argument: str, labelled: bool) -> str:
    by_parameter = "by the parameter dims, " if labelled else ""
    lines = [
        f"{f'argument {argument!r}' if argument else 'the DataArray'} has the dims {tuple(array.dims)}, "
        "expected dims that are I, J and K by name (a data dimension: its number), "
        f"{by_parameter}by fieldstone.xarray.set_dims({{...}}) or by CF metadata; found:"
    ]
    for dim, meanings in labels.items():
        attributes = {
            key: value
            for key, value in (array.coords[dim].attrs if dim in array.coords else {}).items()
            if key in ("axis", "standard_name", "units", "positive")
        }
        meaning = " or ".join(sorted(meanings)) or "unknown"
        nothing = "" if meanings else " (no coordinate with metadata)"
        lines.append(f"  {dim}: {meaning}" + (f" {attributes}" if attributes else nothing))
    if "cf_xarray" not in sys.modules:
        lines.append("  (cf_xarray is not installed; with it, standard names and units are read as well)")
    return "\n".join(lines)


def data_interface(
    array: DataArray, mapping: Mapping[str, str] | None = None, argument: str = "", labelled: bool = False
) -> dict[object, dict[str, Any]]:
    """Describe the memory of a ``DataArray`` as ``__gt_data_interface__``.

    Parameters
    ----------
    array : xarray.DataArray
        The array. One that still lies in a file is loaded, in place.
    mapping : mapping of str to str, optional
        What its dims mean, asked before the mapping of :func:`set_dims`.
    argument : str, optional
        Name of the argument, for messages.
    labelled : bool, default False
        Whether the user can say it by a parameter ``dims``, for messages.

    Returns
    -------
    dict
        For each device a buffer's ``shape``, ``typestr``, ``data``, ``strides`` and ``dims``. An accessor that the
        user has registered is returned as it is.

    Raises
    ------
    DimensionsError
        If the meaning of a dim is unknown or ambiguous, or not what the wrapped object says.
    ArgumentTypeError
        If the wrapped object has no memory of its own, such as a dask array.
    """
    for name in ("__gt_data_interface__", "__gt_interface__"):
        accessor = getattr(type(array), name, None)
        if accessor is not None and accessor is not _ACCESSOR:
            own: dict[object, dict[str, Any]] = getattr(array, name)
            return own
    data = _loaded(array, argument)
    dims = get_dims(array, mapping, argument=argument, labelled=labelled)
    for name in ("__gt_data_interface__", "__gt_interface__"):
        if hasattr(data, name):
            return _with_dims(getattr(data, name), dims, argument)
    buffers: dict[object, dict[str, Any]] = {}
    for device, name in ((None, "__array_interface__"), ("gpu", "__cuda_array_interface__")):
        if hasattr(data, name):
            buffers[device] = {**getattr(data, name), "dims": dims, "owner": data}
    if not buffers:
        raise ArgumentTypeError(
            f"argument {argument!r} wraps a {type(data).__module__}.{type(data).__qualname__}, which gives no access "
            "to its memory; expected a NumPy array or a storage (call .compute() or .load() first)"
        )
    return buffers


def plain(
    array: DataArray, mapping: Mapping[str, str] | None, argument: str, labelled: bool
) -> tuple[np.ndarray[Any, Any] | Storage, tuple[str, ...]] | None:
    """Return what a ``DataArray`` wraps and what its dims mean, if it is a NumPy array or a storage and that is all.

    Parameters are those of `data_interface`, which takes several times as long.
    """
    kind = type(array)
    if getattr(kind, "__gt_data_interface__", None) is not _ACCESSOR or hasattr(kind, "__gt_interface__"):
        return None
    # ``.data`` asks many questions to find that it is this.
    data = getattr(array.variable, "_data", None)
    if isinstance(data, Storage):
        dims = _meaning(array, mapping, argument, labelled)
        _check_dims(data.__gt_dims__(), dims, argument)
        return data, dims
    return (data, _meaning(array, mapping, argument, labelled)) if type(data) is np.ndarray else None


def _meaning(array: DataArray, mapping: Mapping[str, str] | None, argument: str, labelled: bool) -> tuple[str, ...]:
    dims = array.dims
    if mapping is None and dims in _meanings:
        return _meanings[dims]
    meaning = get_dims(array, mapping, argument=argument, labelled=labelled)
    if mapping is None and are_named(dims, None):
        if len(_meanings) >= _MOST_KNOWN:
            _meanings.clear()
        _meanings[dims] = meaning
    return meaning


def are_named(dims: tuple[object, ...], mapping: Mapping[str, str] | None) -> bool:
    """Tell whether names alone say what dims mean, so that no metadata is asked."""
    known = {**_mapping, **(mapping or {})}
    return all(dim in known or _is_label(dim) for dim in map(str, dims))


def _loaded(array: DataArray, argument: str) -> Any:
    # ``.data`` of an array that still lies in a file may read the file anew on every access; writes would be lost.
    data = getattr(array.variable, "_data", None)
    if not (getattr(array.variable, "_in_memory", True) or any(hasattr(data, name) for name in _MEMORY)):
        if array.chunks is not None:
            raise ArgumentTypeError(
                f"argument {argument!r} is a DataArray in chunks (dask); expected one in memory, call .load() first"
            )
        array.load()
    return array.data


def _with_dims(devices: Any, dims: tuple[str, ...], argument: str) -> dict[object, dict[str, Any]]:
    described: dict[object, dict[str, Any]] = {}
    for device, buffer in (devices() if callable(devices) else devices).items():
        entries = dict(buffer() if callable(buffer) else buffer)
        _check_dims(entries.get("dims"), dims, argument)
        described[device] = {**entries, "dims": dims}
    return described


def _check_dims(given: Iterable[str] | None, dims: tuple[str, ...], argument: str) -> None:
    if given is not None and tuple(given) != dims:
        raise DimensionsError(
            f"argument {argument!r}: its dims mean {dims}, but the data it wraps has the dims {tuple(given)}"
        )


# A plain property: xarray keeps what its own accessors return, but an address must not outlive the data it is of.
_ACCESSOR = property(data_interface, doc="The memory of this array as fieldstone's stencils take it.")


def register() -> None:
    """Give ``xarray.DataArray`` the attribute ``__gt_data_interface__``, unless the user has registered one.

    Also lets xarray write storages to files.
    """
    from xarray import DataArray

    if not hasattr(DataArray, "__gt_data_interface__"):
        DataArray.__gt_data_interface__ = _ACCESSOR  # type: ignore[attr-defined]
    _write_storages()


def _write_storages() -> None:
    """Let xarray hand the host memory of storages to the libraries that write files.

    netCDF4 takes whatever has memory in ``.data`` for a NumPy array, and fails.
    """
    from xarray.backends.common import ArrayWriter

    add: Any = ArrayWriter.add
    if getattr(add, "writes_storages", False):
        return

    @functools.wraps(add)
    def add_array(self: ArrayWriter, source: Any, *arguments: Any, **keywords: Any) -> Any:
        return add(self, np.asarray(source) if isinstance(source, Storage) else source, *arguments, **keywords)

    add_array.writes_storages = True  # type: ignore[attr-defined]
    ArrayWriter.add = add_array  # type: ignore[method-assign]


register()
