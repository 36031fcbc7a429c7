"""Files that are not whole are not used, and are replaced; nobody notices but by the time it takes."""

from __future__ import annotations

import os
import random

import pytest

from tests.cache import scheme


def truncated(entry):
    entry.write_bytes(entry.read_bytes()[:-100])


def emptied(entry):
    entry.write_bytes(b"")


def cut_in_the_header(entry):
    entry.write_bytes(entry.read_bytes()[:50])


def edited_code(entry):
    contents = bytearray(entry.read_bytes())
    contents[-200] ^= 0x10
    entry.write_bytes(contents)


def edited_header(entry):
    entry.write_bytes(entry.read_bytes().replace(b"stencil average", b"stencil awkward"))


def swapped(entry):
    entry.write_bytes(entry.read_bytes().replace(b"sha256 ", b"sha256 0")[:-1])


def longer(entry):
    entry.write_bytes(entry.read_bytes() + b"more")


def zeros(entry):
    """What a machine leaves that lost its power."""
    entry.write_bytes(bytes(len(entry.read_bytes())))


def foreign(entry):
    entry.write_bytes(random.Random(0).randbytes(5000))


def another_version(entry):
    entry.write_bytes(entry.read_bytes().replace(b"fieldstone code 2", b"fieldstone code 3"))


def first_version(entry):
    entry.write_bytes(b"fieldstone code1" + bytes(32) + b"\x7fELF")


def dangling_link(entry):
    entry.unlink()
    entry.symlink_to("nowhere")


def link_to_itself(entry):
    entry.unlink()
    entry.symlink_to(entry)


def link_to_a_device(entry):
    entry.unlink()
    entry.symlink_to("/dev/zero")


def link_to_another_file(entry):
    other = entry.parent.parent / "thesis.txt"
    other.write_text("years of work")
    entry.unlink()
    entry.symlink_to(other)


def pipe(entry):
    entry.unlink()
    os.mkfifo(entry)


def folder(entry):
    entry.unlink()
    entry.mkdir()


def removed(entry):
    entry.unlink()


DAMAGES = [
    truncated,
    emptied,
    cut_in_the_header,
    edited_code,
    edited_header,
    swapped,
    longer,
    zeros,
    foreign,
    another_version,
    first_version,
    dangling_link,
    link_to_itself,
    link_to_a_device,
    link_to_another_file,
    pipe,
    folder,
    removed,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_compiled_anew(directory, entry, damage):
    damage(entry)
    assert not scheme.reused(directory)
    assert scheme.reused(directory)
    assert {path.name for path in directory.iterdir()} == {entry.name, "CACHEDIR.TAG"}


def test_what_a_link_leads_to_is_left_alone(directory, entry):
    link_to_another_file(entry)
    scheme.reused(directory)
    assert (directory.parent / "thesis.txt").read_text() == "years of work"
    assert not entry.is_symlink()


def test_a_link_to_an_entry_is_an_entry(directory, entry):
    entry.rename(directory.parent / "moved")
    entry.symlink_to(directory.parent / "moved")
    assert scheme.reused(directory)


def test_a_folder_with_something_in_it_stays(directory, entry):
    folder(entry)
    (entry / "notes").touch()
    assert not scheme.reused(directory)
    assert (entry / "notes").exists()


def test_whole_files_that_are_no_code_are_compiled_anew(directory, entry):
    """A file with the right checksum and the wrong code, as no writer makes it."""
    import hashlib

    body = entry.read_bytes().split(b"\n", 2)[2]
    facts = body[: body.index(b"object ")]
    for code in (b"", b"\x7fELF", b"no code at all" * 100):
        wrong = facts + b"object %d\n" % len(code) + code
        entry.write_bytes(b"fieldstone code 2\nsha256 " + hashlib.sha256(wrong).hexdigest().encode() + b"\n" + wrong)
        assert not scheme.reused(directory)
        assert scheme.reused(directory)
