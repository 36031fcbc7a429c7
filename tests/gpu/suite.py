"""Machine code of GPUs for every stencil that the tests make, whatever backend they make it for.

Each is compiled to PTX when its test is over, for all processors, and for the layouts that it was called with if it ran
on a device. NVIDIA's assembler takes many of them at once. That costs time only in runs that have the test that asks
for the result, which comes last. Of processes that share the tests each has its own suite, and asks at its end too.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.gpu.assembler import PROCESSORS, TRIPLE, assembler, loose_arithmetic

# As many texts at once: the assembler takes longer to start than for one.
BATCH = 24


@dataclass(frozen=True)
class Text:
    """PTX of a stencil.

    Attributes
    ----------
    stencil, test : str
        Whose it is, and in which test that was made.
    processor : str
        What it is for.
    ptx : str
        The text.
    """

    stencil: str
    test: str
    processor: str
    ptx: str

    @property
    def title(self) -> str:
        """Say what it is."""
        return f"stencil '{self.stencil}' for {self.processor}, made in {self.test}"


class Suite:
    """The stencils of a run of the tests."""

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.texts: dict[str, int] = defaultdict(int)
        self._made: list[Any] = []
        self._kept: list[Any] = []
        self._wanted = False
        self._known: set[bytes] = set()
        self._waiting: dict[str, list[Text]] = defaultdict(list)
        self._batches: list[Future[list[str]]] = []
        self._pool = ThreadPoolExecutor(os.cpu_count())

    def watch(self) -> None:
        """Note each stencil that is made from now on."""
        from fieldstone.gtscript.stencil_object import StencilObject

        made = StencilObject.__init__

        def noted(stencil: Any, *arguments: Any, **keywords: Any) -> None:
            made(stencil, *arguments, **keywords)
            self._made.append(stencil)

        StencilObject.__init__ = noted  # type: ignore[method-assign]

    def begin(self, *, wanted: bool) -> None:
        """Say whether somebody is going to ask. What was made so far is compiled after the tests, which share it."""
        self._kept, self._made, self._wanted = self._made if wanted else [], [], wanted

    def compile(self, test: str) -> None:
        """Compile what was made since this was last called, which was in a test."""
        made, self._made = self._made, []
        for stencil in made if self._wanted else []:
            self._compile(stencil, test)

    def finish(self) -> list[str]:
        """Assemble the rest, and return what went wrong since this was last called."""
        kept, self._kept = self._kept, []
        for stencil in kept:
            self._compile(stencil, stencil.definition_func.__code__.co_filename)
        for processor in PROCESSORS:
            self._send(processor)
        failures, self.failures = self.failures, []
        batches, self._batches = self._batches, []
        return [*failures, *(failure for batch in batches for failure in batch.result())]

    def _compile(self, stencil: Any, test: str) -> None:
        for text in self._of(stencil, test):
            if not stencil.options["backend_opts"].get("fast_math"):
                self.failures += [f"{text.title}: {what}: {line}" for what, line in loose_arithmetic(text.ptx).items()]
            self.texts[text.processor] += 1
            self._waiting[text.processor].append(text)
            if len(self._waiting[text.processor]) == BATCH:
                self._send(text.processor)

    def _of(self, stencil: Any, test: str) -> Iterator[Text]:
        for layout in stencil._layouts() if stencil.backend == "gpu" else [None]:
            what = (stencil.definition.ir, stencil.options["backend_opts"], layout)
            digest = hashlib.sha256(repr(what).encode()).digest()
            if digest in self._known:
                continue
            self._known.add(digest)
            for processor in PROCESSORS:
                try:
                    ptx = stencil._compiled_for(TRIPLE, processor, layout).decode()
                except Exception as error:
                    self.failures.append(f"stencil '{stencil.name}' for {processor}, made in {test}: {error}")
                    break
                yield Text(stencil.name, test, processor, ptx)

    def _send(self, processor: str) -> None:
        if texts := self._waiting.pop(processor, []):
            self._batches.append(self._pool.submit(wrong, texts, processor))


def wrong(texts: list[Text], processor: str) -> list[str]:
    """Assemble texts, and return what the assembler says of those that it does not take."""
    said = refusal(texts, processor)
    if said is None:
        return []
    if len(texts) == 1:
        return [f"{texts[0].title}: {said}"]
    middle = len(texts) // 2
    found = wrong(texts[:middle], processor) + wrong(texts[middle:], processor)
    return found or [f"{texts[0].title}, with others: {said}"]


def refusal(texts: list[Text], processor: str) -> str | None:
    """Assemble texts as one program, in which each has names of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(texts):
            own = re.sub(r"\bfieldstone_", f"of_{number}_fieldstone_", text.ptx)
            Path(folder, f"{number}.ptx").write_text(own)
        files = [f"{number}.ptx" for number in range(len(texts))]
        command = [assembler(), "-O1", f"-arch={processor}", *files, "-o", "all.cubin"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        return None if done.returncode == 0 else done.stdout + done.stderr
