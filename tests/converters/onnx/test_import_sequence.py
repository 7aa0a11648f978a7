"""Sequences and optional values, of every opset."""

from __future__ import annotations

import numpy as np
import pytest

from graphir.converters.onnx import from_model, to_model
from graphir.errors import UnsupportedOpError
from tests.converters.onnx.versions import Old, assert_comes_back, model, ramp

X = {"x": ramp(2, 3), "z": ramp(2, 4), "p": np.int64(1), "n": np.int64(-1), "v": np.array([1, 2], np.int64)}
MADE = "s = SequenceConstruct(x, z);"
BODY = "body = b (float[2, N] e) => (float[2, N] r) { r = Neg(e) }"

OLD = (
    Old(11, f"{MADE} y = SequenceAt(s, p)", X),
    Old(11, f"{MADE} y = SequenceLength(s)", X),
    Old(11, f"{MADE} t = SequenceErase(s); y = SequenceAt(t, n)", X),
    Old(11, f"{MADE} t = SequenceErase(s, p); y = ConcatFromSequence <axis: int = 1> (t)", X),
    Old(11, f"{MADE} t = SequenceInsert(s, x, p); y = ConcatFromSequence <axis: int = -1> (t)", X, ("p",)),
    Old(11, "s = SequenceConstruct(x, x); y = ConcatFromSequence <axis: int = 1, new_axis: int = 1> (s)", X),
    Old(11, "s = SequenceEmpty(); t = SequenceInsert(s, z); y = SequenceAt(t, n)", X),
    Old(11, "s = SequenceEmpty <dtype: int = 7> (); y = SequenceLength(s)", {}),
    Old(11, "s = SplitToSequence <axis: int = 1> (x); y = SequenceAt(s, p)", X),
    Old(11, "s = SplitToSequence <axis: int = 1, keepdims: int = 0> (x); y = SequenceAt(s, p)", X),
    Old(11, "s = SplitToSequence <axis: int = 1> (x, v); y = SequenceAt(s, p)", X, ("v",)),
    Old(24, "s = SplitToSequence <axis: int = 1> (x, p); y = SequenceAt(s, n)", X, target=13),
    Old(17, f"{MADE} t = SequenceMap <{BODY}> (s); y = SequenceAt(t, p)", X),
    Old(15, "o = Optional(x); y = OptionalGetElement(o)", X),
    Old(15, "o = Optional(x); y = OptionalHasElement(o)", X),
    Old(18, "y = OptionalGetElement(x)", X),
    Old(18, "y = OptionalGetElement(x)", X, target=13),
    Old(18, "y = OptionalHasElement(x)", X),
    Old(18, "y = OptionalHasElement(x)", X, target=13),
    Old(18, "y = OptionalHasElement()", {}),
    Old(18, "y = OptionalHasElement()", {}, target=13),
)


@pytest.mark.parametrize("old", OLD, ids=str)
def test_older_versions_come_back(old: Old) -> None:
    assert_comes_back(old)


BEYOND = (
    (17, f"{MADE} t = SequenceMap <{BODY}> (s); y = SequenceAt(t, p)", 15, "SequenceMap exists from opset 17"),
    (15, "o = Optional(x); y = OptionalHasElement(o)", 13, "optional values exist from opset 15"),
)


@pytest.mark.parametrize(("opset", "text", "target", "reason"), BEYOND)
def test_what_an_older_target_cannot_say(opset: int, text: str, target: int, reason: str) -> None:
    graph = from_model(model(text, opset, X))
    with pytest.raises(UnsupportedOpError, match=reason):
        to_model(graph, opset=target)


def test_a_map_knows_what_its_body_gives() -> None:
    graph = from_model(model(f"{MADE} t = SequenceMap <{BODY}> (s)", 17, X))
    assert str(graph.outputs[0].type) == "sequence(float32[2, N])"
