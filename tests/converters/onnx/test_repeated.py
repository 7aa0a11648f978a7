"""Nodes that say the same as one before are imported a shorter way, which gives what the long one gives."""

from __future__ import annotations

from typing import Any

import pytest

from graphir.converters.onnx import from_model
from graphir.converters.onnx.importing.importer import LONGEST, Repeated
from graphir.errors import ImportFailure
from graphir.serial.equal import first_difference
from tests.building import parse_model

GOOD = [
    "g (float[2] x) => (float[2] z) { y = Relu(x) z = Relu(y) }",
    "g (float[2] x) => (float[2] z) { y = Elu <alpha: float = 2.0> (x) z = Elu <alpha: float = 3.0> (y) }",
    "g (float[2] x, int32[2] i) => (float[2] y, int32[2] j) { y = Neg(x) j = Neg(i) }",
    "g (float[2] x) => (float[2] z) <float[N] y> { y = Relu(x) z = Relu(y) }",
    "g (float[2,4] x) => (z) { a, b = Split <axis = 1> (x) c, d = Split <axis = 1> (a) z = Concat <axis = 1> (c, d) }",
    "g (float[2,3] x) => (b) { y, m = Dropout(x) b = Dropout(y) }",
    "g (float[2] x) => (float[2] z) { z = Relu(y) y = Relu(x) }",
    "g (bool c, float[2] x) => (z) { y = Relu(x) z = If(c) "
    "<then_branch = t () => (a) { a = Relu(x) }, else_branch = e () => (b) { b = Relu(y) }> }",
]  # fmt: skip
BAD = [
    "g (float[2] x) => (float[2] z) { y = Relu(x) z = Relu(w) }",
    "g (float[2] x, float[3] w) => (float[2] z) { y = Add(x, x) z = Add(y, w) }",
    "g (float[2] x, string[2] w) => (float[2] z) { y = Relu(x) z = Relu(w) }",
    "g (float[2] x) => (float[2] z) { y = Relu(x) z, w = Relu(y) }",
    "g (float[2] x) => (float[2] z) { y = Add(x, x) z = Add(y) }",
    "g (float[2] x) => (float[2] z) { y = Relu(x) z = Relu(x, y) }",
    "g (float[2] x) => (double[2] z) { y = Relu(x) z = Relu(y) }",
    "g (float[2] x) => (float[2] z) { y = NoSuch(x) a = Relu(x) z = Relu(y) }",
]


@pytest.fixture
def the_long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Repeated, "find", lambda self, proto: None)


def outcome(text: str) -> Any:
    """The graph, or the text of the error."""
    try:
        return from_model(parse_model(text, opset=17))
    except ImportFailure as error:
        return str(error)


@pytest.mark.parametrize("text", GOOD)
def test_the_same_graph(text: str, request: pytest.FixtureRequest) -> None:
    found = outcome(text)
    request.getfixturevalue("the_long_way")
    expected = outcome(text)
    assert first_difference(found, expected) is None
    assert found.decisions == expected.decisions
    assert [value.sources for value in found.values] == [value.sources for value in expected.values]


@pytest.mark.parametrize("text", BAD)
def test_the_same_error(text: str, request: pytest.FixtureRequest) -> None:
    found = outcome(text)
    request.getfixturevalue("the_long_way")
    assert isinstance(found, str)
    assert found == outcome(text)


@pytest.mark.parametrize("length, enabled, is_kept", [(4, True, True), (LONGEST, True, False), (4, False, False)])
def test_what_is_kept(length: int, enabled: bool, is_kept: bool) -> None:
    text = "g (float[2] x) => (float[2] y) { y = Elu <alpha: float = 2.0> (x) }"
    proto = parse_model(text).graph.node[0]
    proto.attribute[0].doc_string = "d" * length
    repeated = Repeated(enabled=enabled)
    (op,) = (node.op for node in from_model(parse_model(text)).nodes)
    repeated.keep(proto, op)
    assert repeated.find(proto) is (op if is_kept else None)
