"""Where code cannot be kept, it is compiled; nobody gets an exception, and nothing is left lying about."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading

import pytest

from tests.cache import scheme


def test_files_that_may_not_grow(directory, process, outcome):
    """Writing fails in the middle, as on a full disk."""
    assert not outcome(process(directory, "file_size=700"))
    assert {path.name for path in directory.iterdir()} == {"CACHEDIR.TAG"}
    assert not outcome(process(directory))
    assert outcome(process(directory, "file_size=700"))


def test_a_full_disk(directory, process, outcome):
    """A file system of its own, with no room for an entry, if we may make one."""
    directory.mkdir()
    mount = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
    script = (
        'mount -t tmpfs -o size=8k tmpfs "$0" && head -c 20000 /dev/zero > "$0/other" 2> /dev/null; "$@" && ls "$0" >&2'
    )
    if subprocess.run([*mount, 'mount -t tmpfs tmpfs "$0"', directory], capture_output=True).returncode != 0:
        # The test above is what can be had where mounting is not allowed.
        assert not outcome(process(directory, "file_size=0"))
        return
    import sys

    environment = {**os.environ, "FIELDSTONE_CACHE_DIR": str(directory)}
    program = [sys.executable, scheme.__file__]
    done = subprocess.run([*mount, script, directory, *program], env=environment, capture_output=True, text=True)
    assert done.stdout == '{"cached": false}', done.stderr
    assert done.stderr.split() == ["other"]


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/nowhere", "/dev/null", "/dev/full/code"])
def test_something_else_in_the_place_of_the_directory(tmp_path, monkeypatch, place):
    (tmp_path / "file").write_text("mine")
    monkeypatch.setenv("FIELDSTONE_CACHE_DIR", str(tmp_path / place))
    assert not scheme.run(scheme.make())
    assert (tmp_path / "file").read_text() == "mine"


def test_a_directory_that_may_not_be_written(directory, entry, process, outcome):
    before = os.listdir(directory)
    directory.chmod(0o555)
    try:
        assert outcome(process(directory, "unprivileged"))
        entry.unlink()
        assert not outcome(process(directory, "unprivileged"))
        assert os.listdir(directory) == [name for name in before if name != entry.name]
    finally:
        directory.chmod(0o755)


def test_a_directory_that_may_not_be_read(directory, entry, process, outcome):
    directory.chmod(0)
    try:
        assert not outcome(process(directory, "unprivileged"))
    finally:
        directory.chmod(0o755)


def test_an_entry_that_may_not_be_read_is_replaced(directory, entry, process, outcome):
    entry.chmod(0)
    assert not outcome(process(directory, "unprivileged"))
    assert outcome(process(directory, "unprivileged"))


def test_a_directory_that_is_removed_is_made_again(directory, entry):
    shutil.rmtree(directory)
    assert not scheme.reused(directory)
    assert scheme.reused(directory)


def test_a_directory_that_is_removed_all_the_time(directory):
    done = threading.Event()

    def remove():
        while not done.is_set():
            shutil.rmtree(directory, ignore_errors=True)

    remover = threading.Thread(target=remove)
    remover.start()
    try:
        for _ in range(10):
            scheme.reused(directory, rebuild=True)
    finally:
        done.set()
        remover.join()
    scheme.reused(directory)
    assert scheme.reused(directory)
