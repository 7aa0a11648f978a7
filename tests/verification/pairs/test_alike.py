"""Nodes of one kind that read the same value: which is which, and what is said where nothing tells."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import parser

from graphir import verify

UNCERTAIN = "its counterpart is uncertain"
LINEAR = '{} = Resize<mode = "linear">(x, , factors)'
NEAREST = '{} = Resize<mode = "nearest">(x, , factors)'
# The same numbers, written otherwise.
LINEAR_TO_SIZES = '{} = Resize<mode = "linear">(x, , , sizes)'
WRONG = (
    '{} = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "ceil">(x, , factors)'
)


def saved(path: Path, *nodes: str) -> Path:
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17]> g (float[1, 3, 8, 8] x) => (float[1, 3, 16, 16] y)
        <float[4] factors = {{1, 1, 2, 2}}, int64[4] sizes = {{1, 3, 16, 16}}> {{ {" ".join(nodes)} }}"""
    )
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


def reference(folder: Path) -> Path:
    return saved(folder / "reference.onnx", NEAREST.format("a"), LINEAR.format("b"), "y = Mul(a, b)")


@pytest.mark.parametrize("names", [("p", "q"), ("a", "b")], ids=["other names", "exchanged names"])
@pytest.mark.parametrize("is_first", [False, True], ids=["behind", "first"])
def test_of_two_resizes_of_one_value_the_wrong_one_is_named(
    names: tuple[str, str], is_first: bool, tmp_path: Path
) -> None:
    right, wrong = names
    nodes = [LINEAR.format(right), WRONG.format(wrong)][:: 1 if is_first else -1]
    report = verify(reference(tmp_path), saved(tmp_path / "candidate.onnx", *nodes, f"y = Mul({right}, {wrong})"))
    assert report.verdict.differs
    assert [cause.name for cause in report.causes] == ["a"]
    assert "coordinates half_pixel -> asymmetric" in report.causes[0].what
    assert UNCERTAIN not in report.causes[0].what


def test_resizes_in_another_order_under_exchanged_names_are_the_same(tmp_path: Path) -> None:
    nodes = LINEAR.format("a"), NEAREST.format("b"), "y = Mul(a, b)"
    report = verify(reference(tmp_path), saved(tmp_path / "candidate.onnx", *nodes))
    assert report.ok
    assert not report.causes


@pytest.mark.parametrize("names", [("p", "q"), ("b", "a")], ids=["other names", "own names"])
def test_a_cause_says_where_its_pair_is_uncertain(names: tuple[str, str], tmp_path: Path) -> None:
    """Both are written otherwise, and read the same: only names tell then which is which."""
    right, wrong = names
    nodes = LINEAR_TO_SIZES.format(right), WRONG.format(wrong), f"y = Mul({right}, {wrong})"
    report = verify(reference(tmp_path), saved(tmp_path / "candidate.onnx", *nodes))
    assert report.verdict.differs
    assert report.causes
    assert all((UNCERTAIN in cause.what) == (names == ("p", "q")) for cause in report.causes)
