"""What storages look like: in one line and some values, as a drawing in notebooks, and that looking moves nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import fieldstone
from fieldstone import errors, storage
from fieldstone.storage import SyncState


@pytest.fixture
def gpu() -> Iterator[fieldstone.Device]:
    with fieldstone.simulated_device() as device:
        yield device


def first_line(field: Any) -> str:
    return repr(field).splitlines()[0]


def read_only() -> storage.Storage:
    array = np.zeros(3)
    array.flags.writeable = False
    return storage.as_storage(array)


LINES = [
    (lambda: storage.storage([1, 2]), "<CPUStorage (2) int64; host>"),
    (lambda: storage.as_storage(np.array(1.5)), "<CPUStorage () float64; host; wrapped>"),
    (lambda: storage.zeros((2, 0), "f4"), "<CPUStorage (2, 0) float32; layout 0 1; host>"),
    (lambda: storage.zeros((4, 3), bool, dims="IJ"), "<CPUStorage (I: 4, J: 3) bool; layout 0 1; host>"),
    (
        lambda: storage.zeros((20, 70, 40), dims="KJI", halo=((0, 1), 3, 3), defaults="cpu_ifirst"),
        "<CPUStorage (K: 20, J: 70, I: 40) float64; halo 0+1, 3+3, 3+3; layout 0 1 2; aligned to 64 bytes; host>",
    ),
    (
        lambda: storage.zeros((4, 3, 2), complex, dims=("I", "0", "1"), layout=(2, 1, 0)),
        "<CPUStorage (I: 4, 0: 3, 1: 2) complex128; layout 2 1 0; host>",
    ),
    (read_only, "<CPUStorage (3) float64; host; wrapped; read-only>"),
]


@pytest.mark.parametrize(("make", "line"), LINES, ids=[line for _, line in LINES])
def test_one_line_of_facts(make: Any, line: str) -> None:
    assert first_line(make()) == line


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float16, float, np.complex64], ids=str)
@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 0, 3), (64,), (4, 4, 4), (2, 2, 2, 2, 2)], ids=str)
def test_few_values_are_shown_as_numpy_shows_them(dtype: Any, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    field = storage.storage(array, layout=range(len(shape))[::-1])
    assert str(field) == f"{field}" == str(array)
    assert repr(field).split("\n", 1)[1] == str(field)


@pytest.mark.parametrize(
    ("shape", "lines"),
    [
        ((10**6,), ["[0. 1. ... 2. 3.]"]),
        (
            (10**9, 10**9),
            ["[[0. 0. ... 0. 0.]", " [0. 0. ... 0. 0.]", " ...", " [0. 0. ... 0. 0.]", " [0. 0. ... 0. 0.]]"],
        ),
        ((10**6,) * 3, 9),
        ((10**4,) * 4, 23),
        ((2, 10**3, 10**4, 10**4, 3), ["[[0. 0. 0.]", " [0. 0. 0.]", " ...", " [0. 0. 0.]", " [0. 0. 0.]]"]),
        ((2,) * 40, ["[[0. 0.]", " [0. 0.]]"]),
    ],
    ids=str,
)
def test_of_many_values_those_at_the_edges_are_shown(shape: tuple[int, ...], lines: list[str] | int) -> None:
    """These storages are so large that who formats or reads all values does not come back."""
    if len(shape) == 1:
        values = np.zeros(shape)
        values[[1, -2, -1]] = 1, 2, 3
    else:
        values = np.broadcast_to(0.0, shape)
    field = storage.as_storage(values)
    shown = str(field).splitlines()
    if len(shape) > 4:
        leading = len(shape) - 2
        assert shown.pop() == f"at [{'0, ' * leading}:, :], one of {np.prod(shape[:leading], dtype=object)}"
    assert (len(shown) if isinstance(lines, int) else shown) == lines
    assert len(field._repr_html_()) < 20_000
    assert len(field._repr_inline_(70)) <= 70


def test_format() -> None:
    assert f"{storage.full((), 2.0):.2f} {storage.ones(2)}" == "2.00 [1. 1.]"
    assert f"{storage.full((), 2)}" == "2.0"
    with pytest.raises(TypeError, match="unsupported format string"):
        f"{storage.ones(2):.2f}"


def test_print_options_of_numpy_are_followed() -> None:
    with np.printoptions(precision=2, suppress=True):
        assert str(storage.storage([1 / 3, 2e-9])) == "[0.33 0.  ]"


class TestInline:
    """One line of an `xarray.Dataset`, in as many characters as there is room for."""

    @pytest.mark.parametrize(
        ("values", "text"),
        [
            (3.5, "3.5"),
            ([], ""),
            ([[1, 2, 3], [4, 5, 6]], "1 2 3 4 5 6"),
            (np.arange(100.0).reshape(10, 10), "0. 1. 2. ... 97. 98. 99."),
            ([True, False], "True False"),
            ([1 / 3, 1 + 1j], "0.3333+0.j 1.+1.j"),
        ],
        ids=str,
    )
    def test_the_outermost_values(self, values: Any, text: str) -> None:
        field = storage.storage(np.asarray(values))
        assert field._repr_inline_(70) == f"CPUStorage: {text}"
        assert len(field._repr_inline_(5)) <= 5

    def test_the_device(self, gpu: fieldstone.Device) -> None:
        both = storage.full((4,), 1.0, device="gpu")
        assert both._repr_inline_(70) == "SoftwareManagedGPUStorage: 1. 1. 1. 1."
        both.set_device_modified()
        assert both._repr_inline_(70) == "SoftwareManagedGPUStorage: on device"
        alone = storage.zeros(4, device="gpu", managed=False)
        assert alone._repr_inline_(70) == "GPUStorage: on device"


def moved(device: fieldstone.Device) -> tuple[int, int]:
    return device.transfers.uploads, device.transfers.downloads


def looked_at(field: Any) -> list[str]:
    return [repr(field), str(field), f"{field}", field._repr_html_(), field._repr_inline_(70)]


class TestNothingMoves:
    """Looking at a storage moves nothing between host and device and changes no state."""

    def test_elements_on_the_device_only(self, gpu: fieldstone.Device) -> None:
        field = storage.full((3, 4), 7.0, device="gpu", managed=False)
        gpu.transfers.reset()
        for text in looked_at(field):
            assert re.search("on (simulated )?device", text)
            assert "7. 7." not in text
        assert repr(field) == (
            "<GPUStorage (3, 4) float64; layout 0 1; on simulated device 0>\n"
            "values on simulated device 0; storage(field, device='cpu') copies them to the host"
        )
        assert moved(gpu) == (0, 0)
        assert "7. 7." in str(storage.storage(field, device="cpu"))

    @pytest.mark.parametrize(
        ("state", "words", "values"),
        [
            (SyncState.SYNC_CLEAN, "in sync", "[7. 7. 7.]"),
            (SyncState.SYNC_HOST_DIRTY, "host newer", "[7. 7. 7.]"),
            (
                SyncState.SYNC_DEVICE_DIRTY,
                "device newer",
                "values newer on simulated device 0; to_numpy() copies them to the host",
            ),
        ],
        ids=["clean", "host dirty", "device dirty"],
    )
    def test_two_copies(self, gpu: fieldstone.Device, state: int, words: str, values: str) -> None:
        field = storage.full((3,), 7.0, device="gpu")
        field.synchronize()
        field.sync_state.state = state
        gpu.transfers.reset()
        texts = looked_at(field)
        assert texts[0] == f"<SoftwareManagedGPUStorage (3) float64; host and simulated device 0, {words}>\n{values}"
        assert texts[1] == texts[2] == values
        assert f"<b>{words}</b>" in texts[3]
        assert moved(gpu) == (0, 0)
        assert field.sync_state.state == state

    def test_of_a_view_it_matters_what_is_newer_in_it(self, gpu: fieldstone.Device) -> None:
        field = storage.full((2, 100_000), 7.0, device="gpu")
        field.synchronize()
        field[1].to_cupy()[...] = 8.0
        gpu.transfers.reset()
        assert ", device newer>" in first_line(field)
        assert ", device newer>" in first_line(field[1])
        assert ", device newer elsewhere>" in first_line(field[0])
        assert str(field[0]) == "[7. 7. ... 7. 7.]"
        assert str(field[1]).startswith("values newer on simulated device 0")
        assert moved(gpu) == (0, 0)
        field.to_numpy()
        assert str(field[1]) == "[8. 8. ... 8. 8.]"

    def test_an_array_of_the_device_that_is_out_may_have_been_written_to(self, gpu: fieldstone.Device) -> None:
        field = storage.full((3,), 7.0, device="gpu")
        array = field.to_cupy()
        field.device_to_host()
        array[0] = 8.0
        gpu.transfers.reset()
        assert str(field).startswith("values newer on simulated device 0")
        assert moved(gpu) == (0, 0)
        del array
        assert field.to_numpy()[0] == 8.0
        assert str(field) == "[8. 7. 7.]"

    def test_memory_that_the_driver_moves(self, gpu: fieldstone.Device) -> None:
        field = storage.full((3,), 7.0, device="gpu", managed="cuda")
        assert repr(field) == (
            "<CUDAManagedGPUStorage (3) float64; host and simulated device 0, moved by the driver>\n[7. 7. 7.]"
        )
        assert moved(gpu) == (0, 0)

    def test_a_number_that_is_formatted_is_asked_for(self, gpu: fieldstone.Device) -> None:
        field = storage.full((), 7.0, device="gpu", managed=False)
        assert "7" not in f"{field}"
        assert f"{field:.1f}" == "7.0"


class TestRange:
    """The smallest and the largest value, for those who ask for it."""

    @pytest.mark.parametrize(
        ("values", "text"),
        [
            ([3, -1, 2], "range -1 to 3"),
            ([0.1, 1 / 3], "range 0.1 to 0.333333"),
            ([np.nan, 2.0, -np.inf], "range -inf to 2, and NaN"),
            ([np.nan], "range NaN"),
            ([3 + 4j, 0], "range of |values| 0 to 5"),
            ([True, False], "range False to True"),
            ([], "range of no points"),
            (np.float16([1, 2]), "range 1 to 2"),
            (np.uint8(200), "range 200 to 200"),
        ],
        ids=str,
    )
    def test_of_any_type(self, values: Any, text: str) -> None:
        field = storage.storage(np.asarray(values))
        assert "range" not in repr(field) + field._repr_html_()
        with storage.set_repr(range=True):
            assert first_line(field).endswith(f"host; {text}>")
            assert text.removeprefix("range ") in field._repr_html_()
        assert "range" not in repr(field)

    def test_is_that_of_the_domain(self) -> None:
        field = storage.storage([np.nan, 1.0, 2.0, 99.0], halo=(1,))
        with storage.set_repr(range=True):
            assert "range 1 to 2>" in first_line(field)

    def test_on_a_device_is_that_of_a_copy_and_changes_no_state(self, gpu: fieldstone.Device) -> None:
        alone = storage.full((3,), 7.0, device="gpu", managed=False)
        both = storage.zeros((3,), device="gpu")
        both.to_cupy()[...] = 8.0
        gpu.transfers.reset()
        with storage.set_repr(range=True):
            assert first_line(alone) == "<GPUStorage (3) float64; on simulated device 0; range 7 to 7>"
            assert first_line(both).endswith("device newer; range 8 to 8>")
        assert both.sync_state.state == SyncState.SYNC_DEVICE_DIRTY
        assert moved(gpu) == (0, 2)

    def test_for_good_and_with_nothing_said(self) -> None:
        field = storage.zeros(1)
        with storage.set_repr():
            assert "range" not in repr(field)
            storage.set_repr(range=True)
            assert "range" in repr(field)
            with storage.set_repr():
                assert "range" in repr(field)
            with storage.set_repr(range=False):
                assert "range" not in repr(field)
        assert "range" not in repr(field)

    @pytest.mark.parametrize("value", [1, "yes", np.True_])
    def test_is_asked_for_or_not(self, value: Any) -> None:
        with pytest.raises(errors.ArgumentTypeError, match="range: expected True or False, got"):
            storage.set_repr(range=value)


def tree(field: Any) -> ElementTree.Element:
    """The HTML text, which is XML as well: whatever is not escaped would break it."""
    return ElementTree.fromstring(field._repr_html_())


def words(element: ElementTree.Element, tag: str) -> list[str]:
    return ["".join(found.itertext()) for found in element.iter() if found.tag.rsplit("}")[-1] == tag]


PICTURES: dict[str, tuple[Any, list[str]]] = {
    "0-d": (lambda: storage.full((), 1.0), ["one element"]),
    "1-D": (lambda: storage.zeros(40, dims="K", halo=((1, 4),)), ["K: 40", "1+35+4"]),
    "2-D": (lambda: storage.zeros((30, 20), dims="IJ", halo=(2, 0)), ["I: 30", "2+26+2", "J: 20"]),
    "2-D without labels": (lambda: storage.zeros((3, 8)), ["axis 1: 8", "axis 0: 3"]),
    "3-D": (
        lambda: storage.zeros((40, 70, 60), dims="KJI", halo=(0, 3, 3)),
        ["I: 60", "3+54+3", "J: 70", "3+64+3", "K: 40"],
    ),
    "3-D without points": (lambda: storage.zeros((0, 4, 5), dims="IJK"), ["I: 0", "J: 4", "K: 5"]),
    "3-D without domain": (
        lambda: storage.zeros((6, 4, 5), dims="IJK", halo=(3, 0, 0)),
        ["I: 6", "3+0+3", "J: 4", "K: 5"],
    ),
    "data dimensions": (
        lambda: storage.zeros((3, 8, 9, 10, 2), dims=("0", "I", "J", "K", "1")),
        ["0: 3, 1: 2", "I: 8", "J: 9", "K: 10"],
    ),
    "data dimensions only": (lambda: storage.zeros((3, 2), dims="01"), ["0: 3", "1: 2"]),
    "many axes": (
        lambda: storage.zeros((2,) * 12),
        ["axis 3: 2, axis 4: 2, axis 5: 2, axis 6: 2, …", "axis 0: 2", "axis 1: 2", "axis 2: 2"],
    ),
}


class TestCard:
    """The drawing and the table for notebooks."""

    @pytest.mark.parametrize(("make", "labels"), PICTURES.values(), ids=PICTURES)
    def test_edges_have_names_and_sizes(self, make: Any, labels: list[str]) -> None:
        card = tree(make())
        assert words(card, "text") == labels
        (svg,) = (element for element in card.iter() if element.tag.endswith("svg"))
        assert float(svg.attrib["width"]) <= 400
        assert float(svg.attrib["height"]) <= 250
        assert words(card, "title") == [svg.attrib["aria-label"]]

    @pytest.mark.parametrize(
        ("field", "title"),
        [
            (storage.full((), 1.0), "A single element"),
            (storage.zeros((2, 3)), "2 points along axis 0, 3 points along axis 1; contiguous in memory along axis 1"),
            (
                storage.zeros((70, 40), dims="IK", halo=((3, 2), 0), defaults="cpu_ifirst"),
                "70 points along I, 40 points along K; halo, compute domain and halo: I 3+65+2; "
                "contiguous in memory along I",
            ),
            (storage.zeros((4, 4))[::2, ::2], "2 points along axis 0, 2 points along axis 1"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_the_drawing_has_words_for_those_who_do_not_see_it(self, field: Any, title: str) -> None:
        assert words(tree(field), "title") == [title]

    def test_the_table(self) -> None:
        field = storage.zeros((5, 6), "f4", dims="IJ", halo=(1, (0, 2)), alignment_size=64)
        cells = [words(row, "th") + words(row, "td") for row in tree(field).iter("tr")]
        assert cells == [
            ["", "size", "halo", "domain", "stride", "layout"],
            ["I", "5", "1+1", "3", "64", "0"],
            ["J", "6", "0+2", "4", "4", "1"],
            ["bytes", "120 B, 160 B in between"],
            ["aligned", "[1, 0] to 64 bytes"],
        ]

    @pytest.mark.parametrize(
        ("field", "bytes_"),
        [
            (storage.zeros(128), "1 KiB"),
            (storage.zeros((70, 70, 40)), "1.495 MiB"),
            (storage.zeros(10)[::3], "32 B, 48 B in between"),
            (storage.zeros(0), "0 B"),
            (storage.as_storage(np.broadcast_to(1.0, (3, 4))), "96 B"),
            (storage.as_storage(np.zeros(4)[::-1]), "32 B"),
        ],
        ids=["whole", "large", "strided", "none", "repeated", "reversed"],
    )
    def test_bytes_and_what_lies_in_between(self, field: Any, bytes_: str) -> None:
        assert words(tree(field), "td")[-1] == bytes_

    def test_what_it_says_of_itself(self) -> None:
        assert words(tree(read_only()), "div")[1] == "CPUStorage · float64 · host · wrapped · read-only"

    def test_values_are_those_of_str(self) -> None:
        field = storage.storage([[1, 2], [3, 4]])
        assert words(tree(field), "pre") == [str(field)]

    def test_halo_domain_and_contiguous_axis_are_told_apart(self) -> None:
        halo = tree(storage.zeros((9, 9), dims="IJ", halo=(1, 1)))
        assert words(halo, "span")[::2] == ["compute domain", "halo", "contiguous"]
        plain = tree(storage.zeros((9, 9), dims="IJ"))
        assert words(plain, "span")[::2] == ["contiguous"]
        colours = re.findall(r"fill:(#\w+)", ElementTree.tostring(halo, "unicode"))
        assert len(set(colours)) == 3

    def test_it_stands_alone(self) -> None:
        """It refers to nothing outside, and changes nothing outside: no styles, scripts or names of elements."""
        text = storage.zeros((9, 9, 9, 3), dims="IJK0", halo=(1, 1, 0, 0))._repr_html_()
        assert "<style" not in text
        assert "<script" not in text
        assert " id=" not in text
        assert re.findall(r"(?:href|src|url)\b[^ ]*", text) == []
        assert set(re.findall(r"https?://[^\"]*", text)) == {"http://www.w3.org/2000/svg"}


class TestXarray:
    """xarray shows the card of the storage it wraps, and one line of it in a table of variables."""

    def test_array_and_dataset(self) -> None:
        xarray = pytest.importorskip("xarray")
        field = storage.full((4, 5), 7.0, dims="IJ")
        array = xarray.DataArray(field, dims=("I", "J"), name="temperature")
        assert field._repr_html_() in array._repr_html_()
        assert first_line(field) in repr(array)
        assert "CPUStorage: 7. 7. 7. ... 7. 7. 7." in repr(array.to_dataset())

    def test_nothing_moves(self, gpu: fieldstone.Device) -> None:
        xarray = pytest.importorskip("xarray")
        field = storage.full((4, 5), 7.0, dims="IJ", device="gpu")
        field.set_device_modified()
        array = xarray.DataArray(field, dims=("I", "J"), name="temperature")
        gpu.transfers.reset()
        for shown in (array, array.to_dataset()):
            for text in (repr(shown), shown._repr_html_()):
                assert "on device" in text or "values newer on simulated device 0" in text
                assert "7. 7." not in text
        assert moved(gpu) == (0, 0)
        assert field.sync_state.state == SyncState.SYNC_DEVICE_DIRTY
