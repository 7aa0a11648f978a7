"""Golden captures of another batch than the candidate's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphir import verify
from graphir.converters.mxnet.references import ReferenceEvaluator
from graphir.verification.pieces import pieces_of
from graphir.verification.running.references import GoldenCapture
from tests.verification import models


def capture(folder: Path, batch: int) -> Path:
    """What the script records of the small net, computed by the numpy reference."""
    source = models.net_source()
    reference = ReferenceEvaluator(source.symbol, source.plain_tensors())
    generator = np.random.Generator(np.random.PCG64(batch))
    feeds = {"data": generator.standard_normal((batch, 3, 8, 8)).astype(np.float32)}
    found = reference.run(feeds, reference.values())
    arrays = {"input:data": feeds["data"]}
    arrays |= {f"internal:{name}": array for name, array in found.items() if name not in reference.outputs}
    arrays |= {f"output:{index}:{name}": found[name] for index, name in enumerate(reference.outputs)}
    path = folder / "capture.npz"
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("batch, sets, said", [
    (2, [], ""),
    (4, ["samples 0 to 1", "samples 2 to 3"], "a batch of 4, the candidate takes 2: it was compared in 2 pieces"),
    (5, ["samples 0 to 1", "samples 2 to 3", "samples 3 to 4"], "the candidate takes 2: it was compared in 3 pieces"),
    (1, ["samples 0 to 0"], "the capture has a batch of 1, the candidate takes 2: samples were repeated"),
])  # fmt: skip
def test_another_batch(tmp_path: Path, batch: int, sets: list[str], said: str) -> None:
    report = verify(capture(tmp_path, batch), models.net_graph(), per_layer=True)
    assert report.ok
    assert len(report.layers) == 7
    assert not sets or [one.name for one in report.sets] == sets
    assert [note for note in report.notes if "batch" in note and said not in note] == []
    assert bool(said) == any("batch" in note for note in report.notes)
    assert report.reference == "golden capture capture.npz"


def test_a_difference_in_the_last_sample_is_found(tmp_path: Path) -> None:
    path = capture(tmp_path, 4)
    with np.load(path) as archive:
        arrays = {name: archive[name].copy() for name in archive.files}
    arrays["internal:fc_output"][3] += np.float32(1)
    np.savez(path, **arrays)
    report = verify(path, models.net_graph(), per_layer=True)
    assert report.verdict.differs
    assert report.first_divergence is not None
    assert report.first_divergence.name == "fc_output"
    assert [one.verdict.passes for one in report.sets] == [True, False]


def test_a_fault_is_found_in_pieces(tmp_path: Path) -> None:
    wrong = models.damaged(models.net_graph(), "conv1_weight", lambda array: array * np.float32(1.1))
    assert verify(capture(tmp_path, 4), wrong).verdict.differs


SEQUENCE: dict[str, Any] = {
    "input:x": np.arange(3 * 4 * 5.0).reshape(3, 4, 5), "output:0:y": np.arange(12.0).reshape(4, 3),
    "internal:merged": np.arange(8.0), "internal:table": np.arange(7.0), "internal:one": np.float64(3),
}  # fmt: skip


@pytest.mark.parametrize("inputs, count, y, merged", [
    ({"x": (3, 2, 5)}, 2, SEQUENCE["output:0:y"][:2], SEQUENCE["internal:merged"][:4]),
    ({"renamed": (3, 1, 5)}, 4, SEQUENCE["output:0:y"][:1], SEQUENCE["internal:merged"][:2]),
    ({"x": (3, 4, 5)}, 0, None, None),
    ({"x": (3, "N", 5)}, 0, None, None),
    ({"x": (3, 2, 4)}, 0, None, None),
    ({"x": (3, 2)}, 0, None, None),
    ({"x": (3, 4, 1)}, 0, None, None),
])  # fmt: skip
def test_which_axis_is_the_batch(tmp_path: Path, inputs: Any, count: int, y: Any, merged: Any) -> None:
    np.savez(tmp_path / "c.npz", **SEQUENCE)
    capture = pieces_of(GoldenCapture(tmp_path / "c.npz"), inputs)
    feeds = [] if capture is None else [planned.attempts[0]() for planned in capture.plan(["x"]).sets(False)]
    assert len(feeds) == count
    if capture is None:
        return
    found = capture.run(feeds[0], capture.values())
    np.testing.assert_array_equal(found["y"], y)
    np.testing.assert_array_equal(found["merged"], merged)
    np.testing.assert_array_equal(found["table"], SEQUENCE["internal:table"])
    np.testing.assert_array_equal(found["one"], 3)
    np.testing.assert_array_equal(
        np.concatenate([fed["x"] for fed in feeds], axis=1), SEQUENCE["input:x"]
    )
