"""``fieldstone cache list | verify | clear``, and the same from Python."""

from __future__ import annotations

import datetime
import os
import re
import subprocess
import sys

import pytest

import fieldstone
from fieldstone import cache
from fieldstone.cli import main
from fieldstone.errors import ArgumentTypeError, ArgumentValueError
from tests.cache import scheme


@pytest.fixture
def command(capsys):
    def run(*words):
        status = main(["cache", *map(str, words)])
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def two(directory, entry):
    """The entries of two stencils."""
    assert not scheme.run(scheme.make(scheme.doubled, directory), "C")
    (other,) = set(directory.glob("*.code")) - {entry}
    return entry, other


def test_list_shows_what_entries_are(directory, two, command):
    status, out, _ = command("list", "--dir", directory)
    head, average, doubled, total = out.splitlines()
    assert status == 0
    assert re.split("  +", head) == ["stencil", "backend", "contiguous", "processor", "version", "used", "size"]
    cells = re.split("  +", average)
    assert cells[:3] == ["average", "cpu_ifirst", "I"]
    assert cells[4:6] == [fieldstone.__version__, str(datetime.date.today())]
    assert re.split("  +", doubled)[:3] == ["doubled", "cpu_ifirst", "K"]
    assert re.fullmatch(rf"2 entries in {directory}, [\d.]+ KiB", total)


def test_a_reader_may_stop_reading(two, directory):
    words = [sys.executable, "-m", "fieldstone", "cache", "list", "--dir", str(directory)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as listing:
        listing.stdout.close()  # before it writes
        assert listing.wait() == 0
        assert listing.stderr.read() == ""


def test_list_shows_the_file_that_it_cannot_read(directory, entry, command):
    entry.write_bytes(b"nonsense")
    status, out, _ = command("list", "--dir", directory)
    assert status == 0
    assert f"(broken: {entry.name})" in out


def test_list_says_where_fields_differ(directory):
    from fieldstone.commands.cache import _layout

    assert _layout({"a": "I", "b": "I"}) == "I"
    assert _layout({"a": "I", "b": "K", "c": "I"}) == "I, K: b"
    assert _layout({"a": "I", "b": "K", "c": "none", "d": "I"}) == "I, K: b, none: c"
    assert _layout(dict.fromkeys("bcde", "K") | {"a": "none"}) == "K, none: a"
    assert _layout({"a": "I", **dict.fromkeys("bcdef", "K"), **dict.fromkeys("ghij", "none")}) == (
        "K, none: g h and 2 more, I: a"
    )


def test_verify_finds_what_is_broken(directory, two, command):
    status, out, _ = command("verify", "--dir", directory)
    assert (status, out) == (0, f"2 entries in {directory}, none is broken\n")
    average, _ = two
    average.write_bytes(average.read_bytes()[:-1])
    status, out, _ = command("verify", "--dir", directory)
    assert status == 1
    assert out.splitlines()[0] == f"{average}: it is cut short"
    assert "2 entries in" in out
    assert "1 broken: they are replaced when their code is needed" in out


@pytest.mark.parametrize(
    ("contents", "reason"),
    [
        (b"", "it is cut short"),
        (b"GIF89a", "it is no entry of the cache"),
        (None, "it cannot be read: it is no file"),
    ],
    ids=["empty", "foreign", "folder"],
)
def test_verify_says_why(directory, entry, contents, reason):
    entry.unlink()
    entry.write_bytes(contents) if contents is not None else entry.mkdir()
    assert [found.broken for found in cache.verify(directory)] == [reason]


def test_verify_says_that_an_entry_was_edited(directory, entry):
    entry.write_bytes(entry.read_bytes().replace(b"stencil average", b"stencil awkward"))
    assert cache.verify(directory)[0].broken == "its contents are not what was written: the checksum is wrong"
    # A list takes the file's word.
    assert cache.entries(directory)[0].stencil == "awkward"


def test_an_entry_in_another_versions_format_is_not_broken(directory, entry, command):
    entry.write_bytes(entry.read_bytes().replace(b"fieldstone code 2", b"fieldstone code 7"))
    assert command("verify", "--dir", directory)[0] == 0
    assert f"(of another version: {entry.name})" in command("list", "--dir", directory)[1]
    assert cache.clear(directory, broken=True).entries == 0


def test_clear_says_how_much_it_removed(directory, two, command):
    size = sum(path.stat().st_size for path in two)
    status, out, _ = command("clear", "--dir", directory)
    assert (status, out) == (0, f"removed 2 entries of {directory}, {size / 1024:.1f} KiB\n")
    assert not list(directory.glob("*.code"))
    assert command("clear", "--dir", directory)[1] == f"removed 0 entries of {directory}, 0 B\n"


def test_clear_removes_what_was_not_used(directory, two, command):
    average, doubled = two
    ten_days_ago = datetime.datetime.now().timestamp() - 10 * 86400
    os.utime(average, (ten_days_ago, ten_days_ago))
    assert "removed 0 entries" in command("clear", "--dir", directory, "--older-than", 11)[1]
    assert "removed 1 entry" in command("clear", "--dir", directory, "--older-than", 9.5)[1]
    assert not average.exists()
    assert doubled.exists()


def test_use_keeps_an_entry_young(directory, entry):
    os.utime(entry, (0, 0))
    assert scheme.reused(directory)
    assert cache.clear(directory, older_than=1).entries == 0


def test_clear_removes_one_stencils(directory, two):
    average, doubled = two
    assert cache.clear(directory, stencil="doubled").entries == 1
    assert average.exists()
    assert not doubled.exists()


def test_clear_removes_broken_ones(directory, two, command):
    average, doubled = two
    doubled.write_bytes(doubled.read_bytes()[:-1])
    assert "removed 1 entry" in command("clear", "--dir", directory, "--broken")[1]
    assert average.exists()
    assert not doubled.exists()


def test_clear_leaves_other_files_alone(directory, entry):
    others = [directory / name for name in ("notes.txt", "a-b.code", entry.stem, entry.stem + ".o")]
    for path in others:
        path.write_text("mine")
    (directory / "folder").mkdir()
    size = entry.stat().st_size
    assert cache.clear(directory) == cache.Cleared(1, size)
    assert all(path.read_text() == "mine" for path in others)
    assert (directory / "folder").is_dir()


def test_the_directory_of_stencils_is_the_usual_one(tmp_path, monkeypatch, command):
    monkeypatch.setenv("FIELDSTONE_CACHE_DIR", str(tmp_path / "usual"))
    assert cache.directory() == tmp_path / "usual"
    assert command("list") == (0, f"0 entries in {tmp_path / 'usual'}, 0 B\n", "")
    scheme.run(scheme.make())
    (entry,) = cache.entries()
    assert (entry.stencil, entry.backend, entry.layout) == ("average", "cpu_ifirst", {"inp": "I", "out": "I"})
    assert entry.fieldstone == fieldstone.__version__
    assert "llvm" in entry.llvm
    assert entry.size == entry.path.stat().st_size
    now = datetime.datetime.now().astimezone()
    assert datetime.timedelta() <= now - entry.written < datetime.timedelta(minutes=5)
    assert command("verify")[0] == 0
    assert command("clear")[1].startswith("removed 1 entry of")


@pytest.mark.parametrize("action", ["list", "verify", "clear"])
def test_wrong_use(tmp_path, monkeypatch, command, action):
    status, _, err = command(action, "--dir", tmp_path / "absent")
    assert (status, err) == (2, f"fieldstone cache {action}: there is no directory {tmp_path / 'absent'}\n")
    monkeypatch.setenv("FIELDSTONE_CACHE_DIR", "")
    status, _, err = command(action)
    assert status == 2
    assert "there is no cache: FIELDSTONE_CACHE_DIR is empty" in err
    monkeypatch.setenv("FIELDSTONE_CACHE_DIR", __file__)
    assert command(action)[0] == 2


def test_wrong_days(directory, command, capsys):
    for days in ("-1", "week", "nan"):
        with pytest.raises(SystemExit, match="2"):
            command("clear", "--dir", directory, "--older-than", days)
        assert "expected a number of days" in capsys.readouterr().err
    with pytest.raises(ArgumentTypeError, match="older_than is a number of days or a timedelta, not 'week'"):
        cache.clear(directory, older_than="week")
    with pytest.raises(ArgumentValueError, match="older_than is -1"):
        cache.clear(directory, older_than=-1)


def test_a_stencil_instead_of_its_name(directory):
    with pytest.raises(ArgumentTypeError, match="stencil is the name of one, not <StencilObject average"):
        cache.clear(directory, stencil=scheme.make(directory=directory))


def test_a_span_of_time_may_be_given(directory, entry):
    os.utime(entry, (0, 0))
    assert cache.clear(directory, older_than=datetime.timedelta(hours=3)).entries == 1


def test_there_is_nothing_in_a_directory_that_is_not_there(tmp_path):
    assert cache.entries(tmp_path / "absent") == []
    assert cache.clear(tmp_path / "absent") == cache.Cleared(0, 0)
