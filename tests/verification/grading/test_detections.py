"""Detections as sets: their order among equal scores, and what rounding the inputs turns, is no difference."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import graphir
from graphir.verification.grading.detections import Detections, compare_tables, find_detections
from graphir.verification.numbers.compare import Comparison
from graphir.verification.numbers.limits import GradingLimits
from graphir.verification.verdict import Verdict
from tests.verification.regions.test_suppressions import AT_THE_LIMIT, detector, feeds

Floats = NDArray[np.float64]
EMPTY = [-1.0] * 6


def drawn(seed: int, count: int = 40, places: int = 60) -> Floats:
    """Rows of three classes, best first, and empty ones behind them."""
    generator = np.random.default_rng(seed)
    low = generator.uniform(0, 250, (count, 2))
    boxes = np.concatenate([low, low + generator.uniform(20, 120, (count, 2))], axis=1)
    scores = -np.sort(-generator.uniform(0, 1, (count, 1)), axis=0)
    rows = np.concatenate([generator.integers(0, 3, (count, 1)), scores, boxes], axis=1)
    return np.concatenate([rows, np.tile(EMPTY, (places - count, 1))])


ROWS = drawn(1)
COUNT = int((ROWS[:, 0] >= 0).sum())


def compared(reference: Floats, candidate: Floats, *again: Floats) -> Comparison:
    tables = [rows[None] if rows.ndim == 2 else rows for rows in (reference, candidate, *again)]
    return compare_tables(tables[0], tables[1], tables[2:], GradingLimits())


def changed(row: int, column: int, number: float) -> Floats:
    rows = ROWS.copy()
    rows[row, column] = number
    return rows


def without(row: int, rows: Floats = ROWS) -> Floats:
    return np.concatenate([np.delete(rows, row, axis=0), [EMPTY]])


def swapped(first: int, second: int) -> Floats:
    rows = ROWS.copy()
    rows[[first, second]] = rows[[second, first]]
    return rows


FAULTS = [
    ("a missing box", without(4)),
    ("the last box missing", without(COUNT - 1)),
    ("a box too many", np.concatenate([ROWS[:COUNT], [[2, 0.001, 280, 280, 299, 299]], ROWS[COUNT + 1 :]])),
    ("a box doubled", np.concatenate([ROWS[:1], ROWS[:-1]])),
    ("a box shifted by a pixel", changed(3, 2, ROWS[3, 2] + 1)),
    ("another class", changed(2, 0, (ROWS[2, 0] + 1) % 3)),
    ("another score", changed(0, 1, ROWS[0, 1] - 0.01)),
    ("two rows the other way round", swapped(1, 6)),
    ("ascending scores", np.concatenate([ROWS[:COUNT][::-1], ROWS[COUNT:]])),
    ("empty rows of zeros with class -1", np.where(ROWS == EMPTY, [-1.0, 0, 0, 0, 0, 0], ROWS)),
    ("empty rows in front", np.roll(ROWS, 3, axis=0)),
    ("all boxes in other units", ROWS * [1, 1, 0.5, 0.5, 0.5, 0.5]),
    ("x and y exchanged", ROWS[:, [0, 1, 3, 2, 5, 4]]),
    ("no detection at all", np.full_like(ROWS, -1.0)),
    ("not a number", changed(0, 2, np.nan)),
]


@pytest.mark.parametrize("candidate", [row[1] for row in FAULTS], ids=[row[0] for row in FAULTS])
def test_a_fault_is_a_difference(candidate: Floats) -> None:
    assert compared(ROWS, candidate).verdict is Verdict.BROKEN


def test_a_shift_of_some_roundings_is_a_difference() -> None:
    assert compared(ROWS, changed(3, 2, ROWS[3, 2] + 5 * 5e-6 * 350)).verdict is Verdict.BROKEN


@pytest.mark.parametrize("seed", range(10))
def test_rounding_is_noise(seed: int) -> None:
    rows = drawn(seed)
    share = np.random.default_rng(seed).uniform(-1e-6, 1e-6, rows.shape)
    moved = rows * (1 + share * (rows != EMPTY) * [0, 1, 1, 1, 1, 1])
    result = compared(rows, moved)
    assert (result.verdict, result.note) == (Verdict.NOISE, f"{COUNT} of {COUNT} detections match")


TIED = np.array([[1, 0.8, 10, 10, 50, 50], [1, 0.8, 200, 10, 250, 50], [0, 0.8, 10, 10, 50, 50], [0, 0.3, 0, 0, 9, 9]])


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_equal_scores_have_no_order(order: tuple[int, int, int]) -> None:
    assert compared(TIED, TIED[[*order, 3]]).verdict is Verdict.NOISE


@pytest.mark.parametrize("row", [0, 7, COUNT - 1])
def test_a_row_that_rounding_the_inputs_turns_is_noise(row: int) -> None:
    result = compared(ROWS, without(row), ROWS)
    assert (result.verdict, result.note) == (
        Verdict.NOISE, f"{COUNT - 1} of {COUNT} detections match, 1 more come and go when rounding moves the inputs"
    )
    assert compared(without(row), ROWS, without(row)).verdict is Verdict.NOISE
    assert compared(ROWS, without(row), without(row)).verdict is Verdict.BROKEN


def test_a_fault_beside_a_row_that_turns_is_a_difference() -> None:
    shifted = changed(3, 2, ROWS[3, 2] + 1)
    assert compared(ROWS, without(9, shifted), shifted).verdict is Verdict.BROKEN


def test_limits_follow_from_what_rounding_the_inputs_moves() -> None:
    moved = ROWS * np.where(ROWS == EMPTY, 1, [1, 1 + 1e-5, 1, 1, 1, 1])
    assert compared(ROWS, moved).verdict is Verdict.BROKEN
    assert compared(ROWS, moved, ROWS).verdict is Verdict.NOISE


@pytest.mark.parametrize("moved", [False, True])
def test_what_belongs_to_a_row_goes_with_it(moved: bool) -> None:
    masks = np.random.default_rng(0).normal(size=(1, 4, 3, 3))
    named = {"ids": TIED[None, :, :1], "scores": TIED[None, :, 1:2], "boxes": TIED[None, :, 2:], "masks": masks}
    turned = {name: array[:, [2, 1, 0, 3]] for name, array in named.items()}
    where = find_detections(named)
    assert where == Detections(("ids", "scores", "boxes"), ("masks",))
    other = {**turned, "masks": masks} if moved else turned
    expected = Verdict.BROKEN if moved else Verdict.NOISE
    tables = [where.read(list(outputs.values())) for outputs in (named, other)]
    assert compared(*tables).verdict is expected


def test_images_are_compared_one_by_one() -> None:
    rows = np.stack([ROWS, drawn(2)])
    assert compared(rows, rows).verdict is Verdict.NOISE
    assert compared(rows, rows[::-1]).verdict is Verdict.BROKEN


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ({"y": (1, 9, 6)}, ("y",)),
        ({"x": (3, 4), "y": (2, 9, 7)}, ("y",)),
        ({"a": (1, 9, 1), "b": (1, 9, 1), "c": (1, 9, 4)}, ("a", "b", "c")),
        ({"c": (1, 9, 4), "a": (1, 9), "b": (1, 9)}, ("a", "b", "c")),
        ({"a": (1, 9, 1), "c": (1, 9, 4)}, None),
        ({"a": (1, 9, 5)}, None),
        ({"a": (1, 1000)}, None),
    ],
)
def test_detections_are_found_by_their_shapes(
    outputs: dict[str, tuple[int, ...]], expected: tuple[str, ...] | None
) -> None:
    where = find_detections({name: np.ones(shape, np.float32) for name, shape in outputs.items()})
    assert (None if where is None else where.names) == expected


def test_numbers_that_are_no_classes_are_no_detections() -> None:
    assert find_detections({"y": np.full((1, 9, 6), 0.5)}) is None


def test_scores_may_come_before_classes() -> None:
    outputs = {"scores": np.full((1, 3), 0.5), "boxes": np.ones((1, 3, 4)), "classes": np.array([[0.0, 4.0, -1.0]])}
    where = find_detections(outputs)
    assert where is not None
    assert where.names == ("classes", "scores", "boxes")


@pytest.mark.parametrize(("fault", "passes"), [({"moved": -8e-6}, True), ({"moved": -8e-6, "box": 1.0}, False)])
def test_a_capture_of_detections_is_a_set(tmp_path: Path, fault: dict[str, float], passes: bool) -> None:
    """Rounding the inputs turns this overlap, and a capture has no values inside that would tell."""
    fed = feeds(AT_THE_LIMIT + 4e-6)
    (rows,) = graphir.Session(detector(tmp_path / "source.onnx", rows=True)).run(fed).values()
    arrays = {**{f"input:{name}": array for name, array in fed.items()}, "output:0:rows": rows}
    np.savez(tmp_path / "capture.npz", **arrays)
    other = detector(tmp_path / "other.onnx", rows=True, **fault)  # type: ignore[arg-type]
    (again,) = graphir.Session(other).run(fed).values()
    assert again.shape != rows.shape
    report = graphir.verify(tmp_path / "capture.npz", other)
    assert report.verdict is (Verdict.NOISE if passes else Verdict.BROKEN), report.to_text()
