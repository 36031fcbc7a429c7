"""Stencils as objects: what can be asked of one, and its call."""

from __future__ import annotations

import enum
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from fieldstone import _core
from fieldstone.errors import ArgumentTypeError, DimensionsError

__all__ = ["AccessKind", "DomainInfo", "FieldInfo", "ParameterInfo", "StencilObject"]


_OPTIONS = ("threads", "dims", "rebuild", "cache_settings", "raise_if_not_cached")


class AccessKind(enum.IntFlag):
    """How a stencil uses a field or a scalar."""

    NONE = 0
    READ = 1
    WRITE = 2
    READ_WRITE = READ | WRITE


@dataclass(frozen=True)
class DomainInfo:
    """Which compute domains a stencil takes.

    Attributes
    ----------
    parallel_axes : tuple of str
        The horizontal axes.
    sequential_axis : str
        The vertical axis.
    min_sequential_axis_size : int
        Levels a domain must have at least.
    ndim : int
        How many axes a domain has.
    """

    parallel_axes: tuple[str, ...]
    sequential_axis: str
    min_sequential_axis_size: int
    ndim: int


@dataclass(frozen=True)
class FieldInfo:
    """What a stencil does with an array parameter.

    Attributes
    ----------
    access : AccessKind
        How it is used.
    boundary : tuple of (int, int)
        Along I, J, K how many points before and after the domain are accessed, never negative.
    axes : tuple of str
        The axes of the grid it extends along.
    data_dims : tuple of int
        Sizes of its data dimensions.
    dtype : numpy.dtype
        Type of its elements.
    """

    access: AccessKind
    boundary: tuple[tuple[int, int], ...]
    axes: tuple[str, ...]
    data_dims: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def domain_mask(self) -> tuple[bool, ...]:
        """Which of I, J, K it extends along."""
        return tuple(axis in self.axes for axis in "IJK")

    @property
    def domain_ndim(self) -> int:
        """How many axes of the grid it has."""
        return len(self.axes)

    @property
    def mask(self) -> tuple[bool, ...]:
        """Which of I, J, K it extends along, and ``True`` for each data dimension."""
        return (*self.domain_mask, *(True for _ in self.data_dims))

    @property
    def ndim(self) -> int:
        """How many dimensions its arrays have."""
        return len(self.axes) + len(self.data_dims)


@dataclass(frozen=True)
class ParameterInfo:
    """What a stencil does with a scalar parameter.

    Attributes
    ----------
    access : AccessKind
        How it is used.
    dtype : numpy.dtype
        Its type.
    """

    access: AccessKind
    dtype: np.dtype[Any]


class StencilObject(_core.Stencil):
    """A compiled stencil.

    ``stencil(*fields, *scalars, origin=None, domain=None, validate_args=True, exec_info=None)`` runs it. Arguments are
    given by position or by name, in the order of the definition. A field is any array: a storage, a NumPy array, an
    xarray ``DataArray``, an object with ``__gt_data_interface__``, ``__array_interface__``, the buffer protocol or
    DLPack. Nothing is copied, and nothing is written if one of the checks fails.

    Parameters
    ----------
    definition : _core.Definition
        The definition, analysed.
    backend : str
        ``"debug"``, ``"numpy"``, ``"cpu_kfirst"``, ``"cpu_ifirst"`` or an alias.
    options : mapping, optional
        ``threads``: how many to use at most. ``dims``: what the dims of xarray objects mean, as in
        :class:`fieldstone.xarray.set_dims`. ``rebuild``, ``cache_settings``, ``raise_if_not_cached``: as in
        :func:`fieldstone.gtscript.stencil`. Others are warned of and have no effect.
    constants : mapping, optional
        Values of the externals.

    Raises
    ------
    BackendError
        If the backend is not known or not available.

    Notes
    -----
    Keywords of a call:

    origin : tuple of int, or dict of str to tuple of int, optional
        Index of the first point of the domain, for all fields or by name, with ``"_all_"`` for those not named. A field
        with fewer axes takes their components. A field without it starts at its ``default_origin`` or
        ``__gt_origin__``, else behind its lower halo (one of no points counts as none), else at the smallest index that
        what the stencil reaches allows for all such fields.
    domain : tuple of int, optional
        Points along I, J, K; by default the most that every field holds inside its halo and what the stencil reaches.
    validate_args : bool, optional
        ``False`` skips the checks. Wrong arguments are then undefined behaviour.
    exec_info : dict, optional
        Filled with times; see :mod:`fieldstone.gtscript.exec_info`.
    """

    def __new__(
        cls,
        definition: _core.Definition,
        backend: str,
        options: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> Self:
        """Compile for a backend."""
        return super().__new__(cls, definition, backend, dict(options or {}))

    def __init__(
        self,
        definition: _core.Definition,
        backend: str,  # noqa: ARG002 - the base class keeps it
        options: Mapping[str, Any] | None = None,
        *,
        constants: Mapping[str, Any] | None = None,
    ) -> None:
        self._definition = definition
        self._options = dict(options or {})
        self._constants = dict(constants or {})
        _check_dims(self._options.get("dims"))
        unknown = [name for name in self._options if name not in _OPTIONS]
        if unknown:
            warnings.warn(
                f"stencil {self.name!r}: option(s) {', '.join(unknown)} are not known and have no effect; "
                f"the options are: {', '.join(_OPTIONS)}",
                stacklevel=3,
            )

    @property
    def definition(self) -> _core.Definition:
        """The definition it was made from."""
        return self._definition

    @property
    def options(self) -> dict[str, Any]:
        """The options it was made with."""
        return dict(self._options)

    @property
    def constants(self) -> dict[str, Any]:
        """Values of the externals."""
        return dict(self._constants)

    @property
    def source(self) -> str:
        """What the backend runs, as text where that is Python; else the text of the definition."""
        return self._inspect("numpy" if self.backend == "numpy" else "source")

    @property
    def field_info(self) -> dict[str, FieldInfo]:
        """What is done with each array parameter."""
        return {
            name: FieldInfo(
                access=AccessKind(reads * AccessKind.READ + writes * AccessKind.WRITE),
                boundary=tuple((max(lower, 0), max(upper, 0)) for lower, upper in extent),
                axes=axes,
                data_dims=(),
                dtype=np.dtype(dtype),
            )
            for name, dtype, axes, reads, writes, extent in self._fields()
        }

    @property
    def parameter_info(self) -> dict[str, ParameterInfo]:
        """What is done with each scalar parameter."""
        return {name: ParameterInfo(AccessKind.READ, np.dtype(dtype)) for name, dtype in self._scalars()}

    @property
    def domain_info(self) -> DomainInfo:
        """Which domains it takes."""
        return DomainInfo(("I", "J"), "K", self._min_levels, 3)

    def run(
        self,
        *args: Any,
        _domain_: Sequence[int],
        _origin_: Mapping[str, Sequence[int]] | Sequence[int],
        exec_info: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Run with everything given, nothing inferred.

        Parameters
        ----------
        *args, **kwargs
            The arguments of the stencil.
        _domain_ : sequence of int
            Points along I, J, K.
        _origin_ : mapping or sequence of int
            As ``origin`` of a call.
        exec_info : dict, optional
            As in a call.
        """
        self(*args, domain=_domain_, origin=_origin_, exec_info=exec_info, **kwargs)

    def clean_call_args_cache(self) -> None:
        """Do nothing: origins and domains are found anew in each call, so that there is no cache to clean."""

    def inspect(self, form: str) -> str:
        """Show what the stencil becomes on its way to the machine.

        Parameters
        ----------
        form : str
            ``"source"`` is the text of the definition, ``"ir"`` what it means with every type and extent, ``"numpy"``
            the same as NumPy. Once the stencil is compiled, by its first call, there are ``"schedule"``, ``"llvm"`` and
            ``"asm"``, for each layout it was called with.

        Returns
        -------
        str
            The text.

        Raises
        ------
        ArgumentValueError
            If there is no such form.
        """
        return self._inspect(form)

    def __repr__(self) -> str:
        fields = ", ".join([*self.field_info, *self.parameter_info])
        return f"<StencilObject {self.name}({fields}) backend={self.backend!r}>"


def _check_dims(dims: Any) -> None:
    """Refuse a ``dims`` option that cannot be what the dims of xarray objects mean."""
    if dims is None:
        return
    if not isinstance(dims, Mapping):
        raise ArgumentTypeError(f"dims is a mapping from names to labels, as in {{'lon': 'I'}}, not {dims!r}")
    for name, label in dims.items():
        if not (isinstance(label, str) and (label in ("I", "J", "K") or label.isdecimal())):
            raise DimensionsError(
                f"dims: {name!r} is mapped to {label!r}, expected 'I', 'J', 'K', or a number for a data dimension"
            )
