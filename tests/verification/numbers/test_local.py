"""Differences that hide beside larger numbers: channels against their own magnitude, and no false alarms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

from graphir import verify
from graphir.verification.numbers.compare import Floor, compare
from graphir.verification.numbers.local import worst_channel
from graphir.verification.verdict import Verdict

SEEDED = np.random.Generator(np.random.PCG64(5))
MAPS = SEEDED.standard_normal((2, 6, 9, 9)).astype(np.float32)
MAPS[:, 0] *= 1e7
ROWS = SEEDED.uniform(0, 1, (1, 40, 6)).astype(np.float32)
ROWS[..., 2:] *= 600
VECTOR = SEEDED.standard_normal(24).astype(np.float32)
VECTOR[:12] *= 1e6
Change = Callable[[Any], Any]


def zeroed(array: Any) -> Any:
    array[:, 4] = 0
    return array


def swapped(array: Any) -> Any:
    array[:, [2, 3]] = array[:, [3, 2]]
    return array


def one_score(array: Any) -> Any:
    array[0, 7, 1] += 2e-3
    return array


def one_element(array: Any) -> Any:
    array[17] *= 1.01
    return array


FAULTS = [
    pytest.param(MAPS, zeroed, "[:, 4, ...]", Verdict.BROKEN, id="a zeroed channel"),
    pytest.param(MAPS, swapped, "[:, 2, ...] [:, 3, ...]", Verdict.BROKEN, id="swapped channels"),
    pytest.param(ROWS, one_score, "[:, :, 1, ...]", Verdict.BROKEN, id="a score beside boxes"),
    pytest.param(VECTOR, one_element, "[17, ...]", Verdict.BROKEN, id="an element of a vector"),
]


@pytest.mark.parametrize(("array", "change", "place", "verdict"), FAULTS)
def test_a_fault_beside_larger_numbers(array: Any, change: Change, place: str, verdict: Verdict) -> None:
    candidate = change(array.copy())
    plain = float(np.abs(candidate - array).max() / np.abs(array).max())
    found = compare("y", array, candidate)
    assert plain < found.limit, "the whole does not show it"
    assert found.verdict.differs
    assert found.place
    assert found.place in place
    assert found.relative > found.limit
    assert found.scale < np.abs(array).max()


@pytest.mark.parametrize("array", [MAPS, ROWS, VECTOR], ids=["maps", "rows", "vector"])
@pytest.mark.parametrize("steps", [1, 8, 40])
def test_rounding_of_each_element_is_no_fault(array: Any, steps: int) -> None:
    signs = SEEDED.integers(-1, 2, array.shape).astype(np.float32)
    assert compare("y", array, array + steps * signs * np.spacing(np.abs(array))).verdict.passes


@pytest.mark.parametrize("columns", [1, 3, 200])
def test_a_channel_with_noise_of_its_own_has_a_limit_of_its_own(columns: int) -> None:
    """Sums that cancel: small numbers with the noise of large ones, as it was measured."""
    array = SEEDED.standard_normal((columns, 50)).astype(np.float32)
    array[:, :25] *= 1e-5
    noise = [SEEDED.standard_normal(array.shape).astype(np.float32) * np.float32(3e-7) for _ in range(5)]
    floor = Floor()
    for one in noise[1:]:
        floor = floor.seen(array, array + one)
    assert compare("y", array, array + noise[0], floor=floor).verdict is Verdict.NOISE
    assert compare("y", array, array + 300 * noise[0], floor=floor).verdict.differs


def test_what_a_sigmoid_leaves_is_computed_to_units_of_one() -> None:
    array = np.array([[1.0, 2e-19, 0.5], [0.9, 1e-12, 0.25]], np.float32)
    flushed = np.where(array < 1e-7, np.float32(0), array)
    assert compare("y", array, flushed, floor=Floor(bounded=True)).verdict is Verdict.NOISE
    assert compare("y", array, flushed).verdict is Verdict.BROKEN


def test_an_exact_zero_beside_large_numbers() -> None:
    array = np.array([[3.0, 0.0], [2.0, 0.0]], np.float32)
    candidate = array.copy()
    candidate[0, 1] = 1e-7
    assert compare("y", array, candidate).verdict is Verdict.NOISE
    candidate[0, 1] = 1.4e-5
    assert compare("y", array, candidate).verdict.differs


@pytest.mark.parametrize(
    "array",
    [np.float32(3), np.zeros((0, 3), np.float32), np.ones((2, 2), np.int32), np.ones((2, 2), np.complex64)],
    ids=["scalar", "empty", "integers", "complex"],
)
def test_what_has_no_channels(array: Any) -> None:
    assert worst_channel(np.asarray(array), np.asarray(array), None) is None


def test_places_of_infinities_are_left_out() -> None:
    array = np.array([[1, np.inf], [2, np.nan]], np.float32)
    assert worst_channel(array, array.copy(), None) is None
    other = array.copy()
    other[0, 0] = 1.5
    found = worst_channel(array, other, None)
    assert found is not None
    assert (found.axis, found.index, found.max_abs) == (1, 0, 0.5)


def test_a_channel_that_is_wrong_in_a_network(tmp_path: Path) -> None:
    """One filter a million times the others; another one is wrong, and nothing of it reaches the limit of the whole."""
    text = '<ir_version: 9, opset_import: ["" : 17]> g (float[1, 3, 12, 12] x) => (float[1, 5, 10, 10] y) '
    weight = SEEDED.standard_normal((5, 3, 3, 3)).astype(np.float32)
    weight[0] *= 1e7
    other = weight.copy()
    other[3] = other[3, ::-1]
    for name, array in (("a", weight), ("b", other)):
        model = onnx.parser.parse_model(text + "{ y = Conv(x, w) }")
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, "w"))
        onnx.save(model, tmp_path / f"{name}.onnx")
    report = verify(tmp_path / "a.onnx", tmp_path / "b.onnx")
    assert report.verdict is Verdict.BROKEN
    assert report.outputs[0].place == "[:, 3, ...]"
    assert verify(tmp_path / "a.onnx", tmp_path / "a.onnx").ok
