"""Stencils as objects: what can be asked of one, and its call."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from fieldstone import _core
from fieldstone.errors import ArgumentTypeError, ArgumentValueError, DimensionsError

from . import warning
from .info import AccessKind, Boundary, DomainInfo, FieldInfo, ParameterInfo

if TYPE_CHECKING:
    from .explanation import Explanation
    from .recipe import Recipe

__all__ = ["StencilObject"]


_CACHE_OPTIONS = ("rebuild", "cache_settings", "raise_if_not_cached")
_OPTIONS = ("threads", "dims", "check_nan", "schedule", "fast_math", *_CACHE_OPTIONS)
_KEYWORDS = ("backend", "definition", "externals", "dtypes", "name", "build_info", "ignore")


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
        ``"debug"``, ``"numpy"``, ``"cpu_kfirst"``, ``"cpu_ifirst"``, ``"gpu"`` or an alias.
    options : mapping, optional
        ``threads``: how many to use at most. ``dims``: what the dims of xarray objects mean, as in
        :class:`fieldstone.xarray.set_dims`. ``check_nan``: whether the backend ``debug`` raises
        `NaNError` at the first NaN that is assigned. ``schedule``: what the cost model is not to decide of how
        ``cpu_kfirst``, ``cpu_ifirst`` and ``gpu`` run it, such as ``{"tile": {"J": 32}, "stores": "cached"}``; with
        ``"tuned"`` the rest is measured. ``fast_math``: what arithmetic may do to results there, one or several of
        ``"contract"``, ``"reassociate"``, ``"reciprocal"``, ``"no_nans"``, ``"no_signed_zeros"``. ``rebuild``,
        ``cache_settings``, ``raise_if_not_cached``: as in :func:`fieldstone.gtscript.stencil`. Others are
        warned of and have no effect.
    constants : mapping, optional
        Values of the externals.
    recipe : Recipe, optional
        What it is made of.

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
    stream : optional
        For the backend ``gpu``: the stream of the device that the work is put into, one of
        `fieldstone.Device.create_stream`, CuPy's, PyTorch's, an object with ``__cuda_stream__``, or the number of one.
        The default is the current stream of CuPy or PyTorch, where these have been imported, else the default stream.
    """

    definition_func: Callable[..., Any] | None
    """The function it was made of."""

    @property
    def _gt_id_(self) -> str:
        """What differs for stencils of the same name that mean something else or run elsewhere."""
        return self._identity

    _identity: ClassVar[str] = ""

    def __new__(
        cls,
        definition: _core.Definition,
        backend: str,
        options: Mapping[str, Any] | None = None,
        *,
        recipe: Recipe | None = None,
        **_: Any,
    ) -> Self:
        """Compile for a backend."""
        build_info = recipe.build_info if recipe is not None else None
        return super().__new__(cls, definition, backend, dict(options or {}), build_info)

    def __init__(
        self,
        definition: _core.Definition,
        backend: str,  # noqa: ARG002 - the base class keeps it
        options: Mapping[str, Any] | None = None,
        *,
        constants: Mapping[str, Any] | None = None,
        recipe: Recipe | None = None,
    ) -> None:
        self._definition = definition
        self._options = dict(options or {})
        self._recipe = recipe
        self.definition_func = recipe.function if recipe is not None else None
        self._constants = dict(constants or {})
        _check_dims(self._options.get("dims"))
        unknown = [name for name in self._options if name not in _OPTIONS]
        if unknown:
            import difflib

            close = [match for name in unknown for match in difflib.get_close_matches(name, [*_KEYWORDS, *_OPTIONS], 1)]
            warnings.warn(
                f"stencil {self.name!r}: option(s) {', '.join(unknown)} are not known and have no effect; "
                f"the options are: {', '.join(_OPTIONS)}"
                + (f" (did you mean {', '.join(map(repr, close))}?)" if close else ""),
                stacklevel=warning.caller(),
            )

    @property
    def definition(self) -> _core.Definition:
        """The definition it was made from."""
        return self._definition

    @property
    def recipe(self) -> Recipe | None:
        """What it was made of."""
        return self._recipe

    @property
    def options(self) -> dict[str, Any]:
        """What it was made with: name, module, precisions, and under ``"backend_opts"`` the options of the backend."""
        cache = {"rebuild": False, "raise_if_not_cached": False, "cache_settings": None, **self._options}
        recipe = self._recipe
        return {
            "name": self.name,
            "module": recipe.module if recipe is not None else "",
            "format_source": recipe is None or recipe.format_source,
            "backend_opts": {key: value for key, value in self._options.items() if key not in _CACHE_OPTIONS},
            "rebuild": cache["rebuild"],
            "raise_if_not_cached": cache["raise_if_not_cached"],
            "cache_settings": dict(cache["cache_settings"] or {}),
            "literal_int_precision": recipe.literal_int_precision if recipe is not None else None,
            "literal_float_precision": recipe.literal_float_precision if recipe is not None else None,
        }

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
                boundary=Boundary(extent),
                axes=axes,
                data_dims=data_dims,
                dtype=np.dtype(dtype),
            )
            for name, dtype, axes, data_dims, reads, writes, extent in self._fields()
        }

    @property
    def parameter_info(self) -> dict[str, ParameterInfo]:
        """What is done with each scalar parameter."""
        return {
            name: ParameterInfo(AccessKind.READ if reads else AccessKind.NONE, np.dtype(dtype))
            for name, dtype, reads in self._scalars()
        }

    @property
    def domain_info(self) -> DomainInfo:
        """Which domains it takes."""
        return DomainInfo(("I", "J"), "K", self._min_levels, 3)

    def run(
        self,
        _domain_: Any,
        _origin_: Any,
        exec_info: dict[str, Any] | None = None,
        **arguments: Any,
    ) -> None:
        """Run with everything given, nothing inferred.

        Parameters
        ----------
        _domain_ : sequence of int
            Points along I, J, K.
        _origin_ : mapping or sequence of int
            As ``origin`` of a call.
        exec_info : dict, optional
            As in a call.
        **arguments
            The arguments of the stencil.
        """
        self(domain=_domain_, origin=_origin_, exec_info=exec_info, **arguments)

    def clean_call_args_cache(self) -> None:
        """Do nothing: origins and domains are found anew in each call, so that there is no cache to clean."""

    def compile(self, *args: Any, layout: str | Mapping[str, str] | None = None, **kwargs: Any) -> Self:
        """Compile ahead of the first call.

        Code is made for one layout: the axis of each field along which its elements are adjacent. A call compiles what
        is missing; after this one, calls with arrays of the same layout find it. Where columns lie one after the other
        in memory, those that are computed side by side are near each other, unless a domain is short along that axis.

        Parameters
        ----------
        *args, **kwargs
            Arguments as in a call, of which any can be left out: only layouts and the domain matter. Without arrays,
            code is made for those of the backend's preset, and without all of them or ``domain``, for large domains.
        layout : str or mapping, optional
            For arrays that are not given: a preset (``"cpu_ifirst"``, ``"C"``, …) or an axis (``"I"``, ``"J"``,
            ``"K"``) along which they are contiguous, for all fields or by name. The default is the backend's preset.

        Returns
        -------
        StencilObject
            The stencil itself.

        Raises
        ------
        CompilationError
            If no code can be made.
        ArgumentValueError
            If there is no such preset or field.

        Notes
        -----
        The backends ``debug`` and ``numpy`` have nothing to compile.
        """
        places, domain, lie = self._prepare(args, kwargs, layout)
        self._compile(places, domain, lie)
        return self

    def explain(
        self,
        *args: Any,
        layout: str | Mapping[str, str] | None = None,
        threads: int | None = None,
        bandwidth: float | None = None,
        **kwargs: Any,
    ) -> Explanation:
        """Explain what the stencil does, how it is computed, and what that costs.

        Nothing is compiled and nothing is run.

        Parameters
        ----------
        *args, **kwargs
            Arguments as in a call, with ``domain`` and ``origin``, any of which can be left out. With all fields, or
            with ``domain``, what is explained is a call; without, what is done for each point of a domain so large that
            its edges do not count.
        layout : str or mapping, optional
            As in :meth:`compile`. Without it and without arrays: the layout that was compiled last, else that of the
            backend's preset.
        threads : int, optional
            How many there are; those a call would use by default.
        bandwidth : float, optional
            Bytes that the machine moves in a second. With it and a domain, there is a lower bound of the time.

        Returns
        -------
        Explanation
            Text if printed, a picture in notebooks, attributes for programs.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            If an argument is wrong.
        DomainError
            If the domain has too few levels.
        """
        from .facts import explanation

        _check_positive("threads", threads, int)
        _check_positive("bandwidth", bandwidth, float)
        places, domain, lie = self._prepare(args, kwargs, layout)
        parameters = self._definition.parameters
        if layout is None and not args and not any(name in kwargs for name in parameters):
            places = self._layouts()[-1]
        facts = self._explain(places, domain, lie, threads)
        points = None if domain is None else (domain[0], domain[1], domain[2])
        return explanation(facts, domain=points, externals=self._constants, bandwidth=bandwidth)

    def inspect(self, form: str) -> str:
        """Show what the stencil becomes on its way to the machine.

        Parameters
        ----------
        form : str
            ``"source"`` is the text of the definition, ``"ir"`` what it means with every type and extent, ``"numpy"``
            the same as NumPy. ``"schedule"``, ``"llvm"`` and ``"asm"`` show each layout it was compiled for, by calls
            or by :meth:`compile`; before, that of the backend's preset.

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

    def __copy__(self) -> Self:
        """Give the stencil itself: it never changes."""
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        """Give the stencil itself: it never changes."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Say how to make it again: from the function's place and what else it was made of."""
        if self._recipe is None:
            raise pickle.PicklingError(f"stencil '{self.name}' cannot be pickled: it was not made of a function")
        return self._recipe.reduced()

    def __eq__(self, other: object) -> bool:
        """Whether they mean the same and run alike."""
        if not isinstance(other, StencilObject):
            return NotImplemented
        if self is other or not self._gt_id_:
            return self is other
        return (self.name, self.backend, self._gt_id_) == (other.name, other.backend, other._gt_id_)

    def __hash__(self) -> int:
        return hash((self.name, self.backend, self._gt_id_)) if self._gt_id_ else object.__hash__(self)

    def __repr__(self) -> str:
        fields = ", ".join([*self.field_info, *self.parameter_info])
        return f"<StencilObject {self.name}({fields}) backend={self.backend!r}>"


def frozen(stencil: StencilObject, origin: Any, domain: Any) -> _core.FrozenStencil:
    """Fix origin and domain of a stencil; what a pickle of a frozen stencil calls."""
    return stencil.freeze(origin=origin, domain=domain)


def _check_positive(name: str, value: Any, kind: type) -> None:
    """Refuse what is given and no positive number."""
    if value is None:
        return
    known = (int, np.integer) if kind is int else (int, float, np.number)
    if isinstance(value, bool) or not isinstance(value, known):
        what = "an integer" if kind is int else "a number"
        raise ArgumentTypeError(f"{name} is {value!r}, expected {what}")
    if not value > 0:
        raise ArgumentValueError(f"{name} is {value!r}, expected a positive number")


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
