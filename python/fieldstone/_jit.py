"""LLVM from the ``llvmlite`` wheel: IR text to object file, object file to functions.

Called by the extension module.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterable
from typing import Any

import llvmlite
import llvmlite.binding as llvm

# LLVM's contexts and pass managers are not made for several threads at once.
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
    """Triple, processor and features of this machine, and the version of LLVM, as strings."""
    version = ".".join(str(part) for part in llvm.llvm_version_info)
    features = llvm.get_host_cpu_features().flatten()
    return (
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        features,
        f"llvmlite {llvmlite.__version__} llvm {version}",
    )


def _target_machine() -> Any:
    triple, cpu, features, _ = host()
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=3, reloc="pic", codemodel="jitdefault"
    )


def _optimised(text: str, machine: Any) -> Any:
    module = llvm.parse_assembly(text)
    module.verify()
    # Loops are vectorised and blocked when the text is written; LLVM cleans up what stands inside them.
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_interleaving = False
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


def compile(text: str) -> bytes:
    """Compile a module to an object file.

    Raises
    ------
    RuntimeError
        If the text is not LLVM IR.
    """
    with _lock:
        machine = _target_machine()
        code: bytes = machine.emit_object(_optimised(text, machine))
        return code


def assembly(text: str) -> str:
    """Return the assembly that `compile` makes of a module."""
    with _lock:
        machine = _target_machine()
        listing: str = machine.emit_assembly(_optimised(text, machine))
        return listing


def load(code: bytes, names: list[str], symbols: Iterable[tuple[str, int]]) -> tuple[list[int], object]:
    """Load an object file.

    Parameters
    ----------
    code : bytes
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
        builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for name in names:
            builder.export_symbol(name)
        for name, address in symbols:
            builder.import_symbol(name, address)
        library = builder.link(compiler, f"stencil{next(_library_numbers)}")
        return [library[name] for name in names], (compiler, library)
