"""The text format: the same messages as in the wire format, and errors that name the line."""

from __future__ import annotations

import math
from typing import Any

import pytest

from graphir.converters.tensorflow.files.text_format import parse
from graphir.converters.tensorflow.files.wire import Blob
from graphir.errors import FormatError


@pytest.mark.parametrize(
    ("text", "message", "expected"),
    [
        ('node { name: "x" op: "NoOp" }', "GraphDef", {"node": [{"name": "x", "op": "NoOp"}]}),
        ("node: < name: 'x' >", "GraphDef", {"node": [{"name": "x"}]}),
        ('name: "a" "b"\n  "c"', "NodeDef", {"name": "abc"}),
        ("# a comment\nsize: -4 # more", "Dim", {"size": -4}),
        ("size: 0x1F", "Dim", {"size": 31}),
        ("size: 010", "Dim", {"size": 8}),
        ('input: ["a", "b"], input: "c"; op: "X"', "NodeDef", {"input": ["a", "b", "c"], "op": "X"}),
        ("i: [1, 2] i: []", "ListValue", {"i": [1, 2]}),
        ("dim [{ size: 2 }, { size: 3 }]", "TensorShapeProto", {"dim": [{"size": 2}, {"size": 3}]}),
        ("dim: [{ size: 2 }, { size: 3 }]", "TensorShapeProto", {"dim": [{"size": 2}, {"size": 3}]}),
        ('attr { key: "T" value { type: DT_FLOAT } }', "NodeDef", {"attr": {"T": {"type": 1}}}),
        ("type: DT_INT64_REF", "AttrValue", {"type": 109}),
        ("type: 3", "AttrValue", {"type": 3}),
        ("f: 1e-3", "AttrValue", {"f": 0.001}),
        ("f: .5f", "AttrValue", {"f": 0.5}),
        ("f: -inf", "AttrValue", {"f": -math.inf}),
        ("b: true", "AttrValue", {"b": True}),
        (r's: "\001\n\x41\"\\\303\244"', "AttrValue", {"s": b'\x01\nA"\\\xc3\xa4'}),
        (r's: "\u00e4"', "AttrValue", {"s": b"\xc3\xa4"}),
        ("debug_info { anything: 3 more { deep: [1] } } version: 1", "GraphDef", {"version": 1}),
    ],
)
def test_texts(text: str, message: str, expected: dict[str, Any]) -> None:
    assert parse(text, message) == expected


def test_tensor_content_is_bytes_without_a_place() -> None:
    found = parse(r'tensor_content: "\000\000\200?"', "TensorProto")["tensor_content"]
    assert isinstance(found, Blob)
    assert bytes(found.data) == b"\x00\x00\x80?"
    assert found.offset is None


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ('node {\n  name: "x"\n  oops: 3\n}', 3, "NodeDef has no field 'oops'"),
        ('node {\n  name: "x"\n', 3, "'}' is missing"),
        ("node {\n  name: x\n}", 2, "expected a text in quotes"),
        ('node {\n  name: "x\n}', 2, "unexpected"),
        ("\n\nversion: three", 3, "expected a whole number"),
        ("version: 123456789012345678901", 1, "more than 64 bits"),
        ("version: 1\nversion: 2", 2, "stated twice"),
        ("node 3", 1, "expected ':'"),
        ("node: 3", 1, "expected '{'"),
        ('node { attr { name: "T" } }', 1, "expected key or value"),
        ('node { attr { key: "T" value { type: DT_NONE } } }', 1, "expected a dtype"),
        ('node { attr { key: "T" value { b: maybe } } }', 1, "expected true or false"),
        ('node { attr { key: "T" value { f: wide } } }', 1, "expected a number"),
        ('node { input: ["a" "b" 3] }', 1, "in the list input"),
        ("}", 1, "expected the name of a field"),
        ("version: 1 $", 1, "unexpected"),
    ],
)
def test_errors_name_the_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(FormatError) as raised:
        parse(text, "GraphDef")
    assert f"line {line}:" in str(raised.value)
    assert reason in str(raised.value)
