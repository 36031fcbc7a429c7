"""Many processes share a directory: the code is compiled once, and none of them sees what another has not finished."""

from __future__ import annotations

import concurrent.futures
import os
import random
import signal
import time

from fieldstone import cache
from tests.cache import scheme

# Fewer bytes than an entry has.
PART = 1000


def killed_in_the_middle(directory, process, outcome):
    """Let a process be killed by the system when the file it writes for the code has so many bytes."""
    outcome(process(directory))
    (entry,) = directory.glob("*.code")
    entry.unlink()
    child = process(directory, f"file_size={PART}", "dies")
    child.communicate()
    assert child.returncode == -signal.SIGXFSZ


def names(directory, ending):
    return [path.name for path in directory.iterdir() if path.suffix == ending]


def test_sixteen_processes_compile_one_stencil_once(directory, process, outcome):
    children = [process(directory) for _ in range(16)]
    assert sorted(outcome(child) for child in children) == [False] + 15 * [True]
    assert sorted(path.suffix for path in directory.iterdir()) == [".TAG", ".code", ".host"]
    assert cache.verify(directory)[0].broken is None


def test_sixteen_threads_compile_one_stencil_once(directory):
    stencil = scheme.make(directory=directory)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for run in [pool.submit(scheme.run, stencil) for _ in range(16)]:
            run.result()
    assert len(names(directory, ".code")) == 1
    assert not names(directory, ".lock")


def test_a_writer_that_is_killed_in_the_middle_leaves_no_entry(directory, process, outcome):
    killed_in_the_middle(directory, process, outcome)
    (draft,) = directory.glob("*.draft")
    assert draft.stat().st_size == PART
    assert not names(directory, ".code")
    assert not cache.entries(directory)

    assert not outcome(process(directory))
    assert outcome(process(directory))
    assert draft.exists(), "it could be one that is being written"


def test_what_killed_writers_left_is_removed_by_the_next_writer(directory, process, outcome):
    killed_in_the_middle(directory, process, outcome)
    left = [*directory.glob("*.draft"), *directory.glob("*.lock")]
    assert {path.suffix for path in left} == {".draft", ".lock"}
    for path in left:
        os.utime(path, (0, 0))
    assert not outcome(process(directory))
    assert sorted(path.suffix for path in directory.iterdir()) == [".TAG", ".code", ".host"]


def test_processes_that_are_killed_at_any_moment(directory, process, outcome):
    """Whatever they were doing, what is there is whole, and the next one is not kept waiting."""
    moments = random.Random(0)
    for _ in range(12):
        child = process(directory)
        time.sleep(moments.uniform(0.1, 0.6))
        child.kill()
        child.communicate()
        assert all(entry.broken is None for entry in cache.verify(directory) if directory.exists())
        for entry in directory.glob("*.code"):
            entry.unlink()
    assert not outcome(process(directory))
    assert outcome(process(directory))


def test_nobody_waits_for_a_claim_of_the_dead(directory, process, outcome):
    directory.mkdir()
    scheme.reused(directory)
    (entry,) = directory.glob("*.code")
    entry.unlink()
    entry.with_suffix(".lock").touch()
    start = time.monotonic()
    assert not outcome(process(directory))
    assert time.monotonic() - start < 25, "it did not wait for what a claim lasts at most"
    assert not names(directory, ".lock")


def test_readers_beside_writers(directory, process, outcome):
    """Entries are replaced again and again while others read them."""
    stencil_runs = 40
    for child in [process(directory) for _ in range(4)]:
        for _ in range(stencil_runs // 4):
            scheme.reused(directory, rebuild=True)
            assert all(entry.broken is None for entry in cache.verify(directory))
        outcome(child)


def test_a_child_that_is_forked_while_its_parent_compiles(directory, process, outcome):
    """The child compiles as well, and does not wait for a thread that it does not have."""
    assert outcome(process(directory, "forks"))
