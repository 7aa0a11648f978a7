"""--feeds and `feeds=`: files, folders, images and the names of drawn sets, several of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from graphir.errors import VerificationError
from graphir.graph import Graph
from graphir.inputs.given import FeedRequest, Feeds, plan_of
from graphir.inputs.sets import FeedSet
from graphir.types import DType, TensorType, parse_shape

X = np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2)


def graph_with(**inputs: str) -> Graph:
    graph = Graph("given")
    for name, text in inputs.items():
        shape, _, dtype = text.partition(":")
        graph.add_input(name, TensorType(DType.of(dtype or "float32"), parse_shape(shape)))
    return graph


def sets_of(feeds: Feeds, graph: Graph) -> list[FeedSet]:
    return list(plan_of(feeds, FeedRequest.of(graph, 0)).sets(False))


def image(path: Path, color: tuple[int, int, int], size: tuple[int, int] = (6, 4)) -> Path:
    Image.new("RGB", size, color).save(path)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.savez(tmp_path / "b.npz", x=X + 1)
    np.savez(tmp_path / "a.npz", x=X)
    np.save(tmp_path / "c.npy", X + 2)
    (tmp_path / "readme.txt").write_text("not one of them")
    return tmp_path


ONE = graph_with(x="N, 3, 2, 2")


def test_a_folder_is_a_set_a_file_in_the_order_of_names(folder: Path) -> None:
    sets = sets_of(folder, ONE)
    assert [one.name for one in sets] == ["a.npz", "b.npz", "c.npy"]
    assert [float(one.attempts[0]()["x"].max()) for one in sets] == [23, 24, 25]


def test_arrays_of_a_folder_that_are_named_after_the_inputs_are_one_set(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", X + 1)
    (one,) = sets_of(tmp_path, graph_with(x="2, 3, 2, 2", y="2, 3, 2, 2"))
    assert {name: float(array.max()) for name, array in one.attempts[0]().items()} == {"x": 23, "y": 24}


def test_several_are_taken_in_their_order(folder: Path) -> None:
    sets = sets_of(["wide", folder / "a.npz", {"x": X}, "drawn", str(folder / "a.npz")], ONE)
    assert [one.name for one in sets] == [
        *("wide", "a.npz", "given", "normal", "edges", "wide (2)", "mask", "a.npz (2)")
    ]
    np.testing.assert_array_equal(sets[0].attempts[0]()["x"], sets[5].attempts[0]()["x"])


WRONG: list[tuple[Any, str]] = [
    ([], "nothing is given"),
    ("norml", r"norml: no such file or folder, and no drawn set of inputs \(drawn, normal, edges, wide, mask\)"),
    ("EMPTY", r"holds no inputs: expected .npz, .npy or images .*, found readme.txt"),
    ("c.npy", "holds one array, and the inputs are a, b"),
    ("a.npz", "the feeds lack a, b; they have x"),
    ("bad.npy", "cannot read .*bad.npy as an .npy"),
]


@pytest.mark.parametrize(("feeds", "said"), WRONG, ids=[str(feeds) for feeds, _ in WRONG])
def test_what_cannot_be_taken(feeds: Any, said: str, folder: Path) -> None:
    empty = folder / "EMPTY"
    empty.mkdir()
    (empty / "readme.txt").write_text("no inputs")
    (folder / "bad.npy").write_bytes(b"\x93NUMPY nonsense")
    graph = ONE if feeds == "bad.npy" else graph_with(a="3", b="3")
    named = folder / feeds if isinstance(feeds, str) and (folder / feeds).exists() else feeds
    with pytest.raises(VerificationError, match=said):
        sets_of(named, graph)[0].attempts[0]()


LAYOUTS = [
    ("1, 3, 8, 10", (1, 3, 8, 10), [1, 0.2, 0], DType.FLOAT32),
    ("N, 8, 10, 3", (1, 8, 10, 3), [1, 0.2, 0], DType.FLOAT32),
    ("N, 3, H, W:uint8", (1, 3, 224, 224), [255, 51, 0], DType.UINT8),
    ("1, 3, 8, 10:int8", (1, 3, 8, 10), [127, -77, -128], DType.INT8),
    ("1, 3, 8, 10:float16", (1, 3, 8, 10), [1, 0.2, 0], DType.FLOAT16),
]


@pytest.mark.parametrize(("shape", "expected", "values", "dtype"), LAYOUTS)
def test_images(
    shape: str, expected: tuple[int, ...], values: list[float], dtype: DType, tmp_path: Path
) -> None:
    path = image(tmp_path / "one.png", (255, 51, 0))
    plan = plan_of(path, FeedRequest.of(graph_with(x=shape), 0))
    (one,) = plan.sets(False)
    found = one.attempts[0]()["x"]
    assert (found.shape, found.dtype) == (expected, dtype.numpy())
    channels = found[0, :, 0, 0] if expected[1] == 3 else found[0, 0, 0]
    np.testing.assert_allclose(channels.astype(np.float64), values, atol=1e-4)
    (note,) = plan.notes
    assert "bilinear, not cropped" in note


def test_images_fill_the_batch(tmp_path: Path) -> None:
    for number in range(3):
        image(tmp_path / f"{number}.png", (50 * number, 0, 0))
    sets = sets_of(tmp_path, graph_with(x="2, 3, 4, 4:uint8"))
    assert [one.name for one in sets] == ["0.png ... 1.png", "2.png"]
    assert [one.attempts[0]()["x"][:, 0, 0, 0].tolist() for one in sets] == [[0, 50], [100, 100]]


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"x": "1, 5, 8, 8"}, "images are fed to an input of four axes"),
        ({"x": "1, 3"}, r"input x is \[1, 3\]"),
        ({"x": "1, 3, 8, 8", "y": "3"}, "images feed a model with one input; this one has x, y"),
    ],
)
def test_images_for_what_takes_none(inputs: dict[str, str], said: str, tmp_path: Path) -> None:
    path = image(tmp_path / "one.png", (1, 2, 3))
    with pytest.raises(VerificationError, match=said):
        sets_of(path, graph_with(**inputs))


def test_what_is_no_image(tmp_path: Path) -> None:
    path = tmp_path / "one.png"
    path.write_bytes(b"text")
    with pytest.raises(VerificationError, match=r"cannot read .*one.png as an image"):
        sets_of(path, ONE)[0].attempts[0]()


def test_without_pillow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one.png").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(VerificationError, match=r"pip install 'pillow>=10' \(graphir's extra `images`\)"):
        sets_of(tmp_path, ONE)
