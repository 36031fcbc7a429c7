"""LLVM from the ``llvmlite`` wheel: IR text to object file, object file to functions.

Called by the extension module.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import llvmlite
import llvmlite.binding as llvm

from fieldstone._processor import PASSES

# For what is loaded. Threads that compile share nothing: each has a context of its own.
_lock = threading.RLock()
_library_numbers = itertools.count()


def _forget_threads() -> None:
    """Make the lock anew: in a child, a thread of the parent that held it will never let go of it."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_forget_threads)

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()


def host() -> tuple[str, str, str, str]:
    """Triple, processor and features of this machine, and LLVM's version, passes and code model, as strings."""
    version, passes = ".".join(str(part) for part in llvm.llvm_version_info), "+".join(PASSES)
    features = llvm.get_host_cpu_features().flatten()
    triple = llvm.get_process_triple()
    return (
        triple,
        llvm.get_host_cpu_name(),
        features,
        f"llvmlite {llvmlite.__version__} llvm {version} {passes} {_code_model(triple)}",
    )


def _code_model(triple: str) -> str:
    """Return how far code may be from what it refers to.

    For a JIT, LLVM takes it that anything may be anywhere. Constants then need two instructions and registers for their
    addresses, and are loaded again in each round of a loop. Both loaders place the code and the constants of an object
    file next to each other, and jump to functions that are far away by a way of their own.
    """
    return "small" if triple.startswith("x86_64") and sys.platform != "win32" else "jitdefault"


def _target_machine() -> Any:
    triple, cpu, features, _ = host()
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=3, reloc="pic", codemodel=_code_model(triple)
    )


def _at_once(name: str) -> Callable[..., Any]:
    """Return a function of LLVM that other threads may call as well meanwhile.

    llvmlite lets one thread at a time into LLVM, as objects of one context are not made for several. Those of different
    contexts are.
    """
    function = getattr(llvm.ffi.lib, name)
    return cast("Callable[..., Any]", getattr(function, "_cfn", function))


@contextmanager
def _optimised(text: str, machine: Any, passes: Callable[[Any], Any]) -> Iterator[Any]:
    """Make a module in a context of its own, and optimise it."""
    with llvm.create_context() as context, llvm.ffi.OutputString() as problem:
        reference = _at_once("LLVMPY_ParseAssembly")(context, text.encode(), problem)
        with llvm.ModuleRef(reference, context) as module:
            if problem:
                raise RuntimeError(f"LLVM IR parsing error\n{problem}")
            module.verify()
            _optimise(module, machine, passes)
            yield module


def _optimise(module: Any, machine: Any, passes: Callable[[Any], Any]) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_interleaving = False
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    inlining = llvm.create_new_module_pass_manager()
    inlining.add_always_inliner_pass()
    _at_once("LLVMPY_RunNewModulePassManager")(inlining, module, builder)
    manager = passes(builder)
    for function in [function for function in module.functions if not function.is_declaration]:
        _at_once("LLVMPY_RunNewFunctionPassManager")(manager, function, builder)


def _passes_of_processor(_: Any) -> Any:
    """Return a manager of `PASSES`."""
    manager = llvm.create_new_function_pass_manager()
    for name in PASSES:
        getattr(manager, f"add_{name}_pass")()
    return manager


def _passes_of_accelerator(builder: Any) -> Any:
    """Return a manager of all that LLVM does for single functions."""
    return builder.getFunctionPassManager()


def _emitted(text: str, machine: Any, as_object: bool, passes: Callable[[Any], Any] = _passes_of_processor) -> bytes:
    with _optimised(text, machine, passes) as module, llvm.ffi.OutputString() as problem:
        buffer = _at_once("LLVMPY_TargetMachineEmitToMemory")(machine, module, int(as_object), problem)
        if not buffer:
            raise RuntimeError(str(problem))
        try:
            start, size = (getattr(llvm.ffi.lib, f"LLVMPY_GetBuffer{what}")(buffer) for what in ("Start", "Size"))
            return ctypes.string_at(start, size)
        finally:
            llvm.ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def compile(texts: list[str]) -> list[bytes]:
    """Compile modules to object files, all at the same time; several threads may do so at once.

    Raises
    ------
    RuntimeError
        If a text is not LLVM IR.
    """
    objects: list[bytes | BaseException] = [b""] * len(texts)

    def compile_one(number: int) -> None:
        try:
            objects[number] = _emitted(texts[number], _target_machine(), as_object=True)
        except BaseException as error:
            objects[number] = error

    others = [threading.Thread(target=compile_one, args=(number,)) for number in range(1, len(texts))]
    for thread in others:
        thread.start()
    compile_one(0)
    for thread in others:
        thread.join()
    for compiled in objects:
        if isinstance(compiled, BaseException):
            raise compiled
    return cast("list[bytes]", objects)


def assembly(text: str) -> str:
    """Return the assembly that `compile` makes of a module."""
    return _emitted(text, _target_machine(), as_object=False).decode()


@functools.cache
def _initialize_accelerators() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def compile_for(text: str, triple: str, cpu: str, features: str) -> bytes:
    """Compile a module for an accelerator: to PTX, which is text, for one of NVIDIA, to an object file for one of AMD.

    Raises
    ------
    RuntimeError
        If the text is not LLVM IR, or LLVM does not know the accelerator.
    """
    _initialize_accelerators()
    try:
        target = llvm.Target.from_triple(triple)
    except RuntimeError as error:
        raise RuntimeError(
            f"the LLVM of llvmlite {llvmlite.__version__} was built without the target {triple.partition('-')[0]!r}, "
            f"which the backend 'gpu' needs; install llvmlite from PyPI, or one that has it ({error})"
        ) from error
    machine = target.create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic")
    return _emitted(text, machine, as_object=not triple.startswith("nvptx"), passes=_passes_of_accelerator)


def load(objects: list[bytes], names: list[str], symbols: Iterable[tuple[str, int]]) -> tuple[list[int], object]:
    """Load object files that refer to each other.

    Parameters
    ----------
    objects : list of bytes
        What `compile` made.
    names : list of str
        Functions to look up.
    symbols : iterable of (str, int)
        Names the code may refer to, and their addresses.

    Returns
    -------
    addresses : list of int
        One for each name.
    keep : object
        The code stays in memory as long as this does.
    """
    with _lock:
        compiler = llvm.create_lljit_compiler(_target_machine())
        builder = llvm.JITLibraryBuilder().add_current_process()
        for code in objects:
            builder.add_object_img(code)
        for name in names:
            builder.export_symbol(name)
        for name, address in symbols:
            builder.import_symbol(name, address)
        library = builder.link(compiler, f"stencil{next(_library_numbers)}")
        return [library[name] for name in names], (compiler, library)
