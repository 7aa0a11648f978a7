"""Which samples calibrate, and which are held out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import graphir
from graphir.quantization.samples import Samples, count_shared, read_samples
from graphir.safety.counted import Count, listening

from .networks import rows, two_products


def read(folder: Path, count: int, most: int, *, calibrates: bool = True, size: int = 8) -> Samples:
    graph = graphir.load(two_products(folder / "model.onnx"))
    feeds = {"x": rows(count)}
    return read_samples(feeds, graph, folder, most, 0, calibrates=calibrates, rows=size)


def numbers(batches: object) -> list[int]:
    return [batch.samples for batch in batches]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "count, most, calibrating, held_out",
    [(50, 128, 32, 18), (450, 128, 128, 32), (16, 128, 8, 8), (8, 128, 8, 0), (1, 128, 1, 0), (40, 8, 8, 4)],
)
def test_shares(tmp_path: Path, count: int, most: int, calibrating: int, held_out: int) -> None:
    samples = read(tmp_path, count, most)
    assert sum(numbers(samples.calibration)) == calibrating <= most
    assert sum(numbers(samples.held_out)) == held_out <= 33


def test_parts_are_disjoint_and_come_from_the_data(tmp_path: Path) -> None:
    samples = read(tmp_path, 50, 128)
    parts = [np.concatenate([batch()["x"] for batch in part]) for part in (samples.calibration, samples.held_out)]
    seen = [{row.tobytes() for row in part} for part in parts]
    assert not seen[0] & seen[1]
    assert seen[0] | seen[1] == {row.tobytes() for row in rows(50)}


@pytest.mark.parametrize(
    "labelled, shared",
    [(rows(50), 32), (rows(50).astype(np.float64), 32), (rows(50) + 1, 0)],
    ids=["all", "wider", "others"],
)
def test_labelled_samples_that_calibrate_are_counted(tmp_path: Path, labelled: NDArray[Any], shared: int) -> None:
    samples = read(tmp_path, 50, 128)
    graph = graphir.load(tmp_path / "model.onnx")
    assert count_shared(samples.calibration, {"x": labelled}, graph) == shared


def test_nothing_calibrates_where_no_range_is_needed(tmp_path: Path) -> None:
    samples = read(tmp_path, 50, 128, calibrates=False)
    assert (samples.calibration, sum(numbers(samples.held_out))) == ([], 32)


def test_the_count_ends(tmp_path: Path) -> None:
    counts: list[Count] = []
    with listening(counts.append):
        read(tmp_path, 10, 128)
    assert counts[-1].done == counts[-1].total
