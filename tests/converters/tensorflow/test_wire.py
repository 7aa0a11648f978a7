"""Protobuf's wire format: what is written is read, what is broken is refused with the byte."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphir.converters.tensorflow.files.messages import SCALARS, messages
from graphir.converters.tensorflow.files.wire import Blob, decode
from graphir.errors import FormatError
from tests.tensorflow.graphdef import const, encode, graph_def, node, placeholder, varint

NODE = {"name": "x", "op": "Placeholder", "input": ["a", "^b"], "attr": {"T": {"type": 1}, "shape": {"shape": {}}}}


@pytest.mark.parametrize(
    ("message", "content"),
    [
        ("NodeDef", NODE),
        ("GraphDef", {"node": [NODE, {"name": "y", "op": "NoOp"}], "versions": {"producer": 1882}}),
        ("AttrValue", {"i": -1}),
        ("AttrValue", {"i": -(1 << 63)}),
        ("AttrValue", {"f": 0.5}),
        ("AttrValue", {"b": True}),
        ("AttrValue", {"list": {"i": [1, -2, 1 << 40], "s": [b"\x00\xff", b""]}}),
        ("AttrValue", {"func": {"name": "f", "attr": {"T": {"type": 3}}}}),
        ("TensorProto", {"dtype": 2, "double_val": [1.5, -2.0], "half_val": [15360]}),
        ("FunctionDef", {"signature": {"name": "f", "input_arg": [{"name": "x"}]}, "ret": {"y": "n:y:0"}}),
    ],
)
def test_what_is_written_is_read(message: str, content: dict[str, Any]) -> None:
    assert decode(memoryview(encode(message, content)), message) == content


def test_large_content_is_a_view_with_its_place() -> None:
    data = encode("TensorProto", {"dtype": 1, "tensor_content": b"weights!"})
    found = decode(memoryview(data), "TensorProto")["tensor_content"]
    assert isinstance(found, Blob)
    assert data[found.offset :] == bytes(found.data) == b"weights!"
    assert found.data.obj is data


@pytest.mark.parametrize(
    ("field", "packed", "expected"),
    [
        ("int64_val", varint(3) + varint(1 << 35), [3, 1 << 35]),
        ("float_val", np.array([1.5, -2], np.float32).tobytes(), [1.5, -2.0]),
        ("bool_val", b"\x01\x00", [True, False]),
        ("int_val", varint((1 << 64) - 1), [-1]),
    ],
)
def test_packed_numbers(field: str, packed: bytes, expected: list[float]) -> None:
    number = next(number for number, held in messages()["TensorProto"].items() if held.name == field)
    data = varint(number << 3 | 2) + varint(len(packed)) + packed
    assert decode(memoryview(data), "TensorProto") == {field: expected}


def test_unknown_fields_are_passed_over() -> None:
    extra = varint(999 << 3 | 2) + b"\x03abc" + varint(998 << 3) + b"\x07" + varint(997 << 3 | 1) + bytes(8)
    assert decode(memoryview(extra + encode("Dim", {"size": 4})), "Dim") == {"size": 4}


NODES = (placeholder("x", "float32", (2, None)), const("w", np.ones((3, 4), np.float32)), node("Relu", "y", ["x"]))
WHOLE = graph_def(*NODES)
# Where a node ends and the next field begins: a file cut there is one with fewer nodes.
ENDS = [len(encode("GraphDef", {"node": NODES[:count]})) for count in (1, 2, 3)]


@pytest.mark.parametrize("end", range(1, len(WHOLE)))
def test_a_cut_file_is_refused_or_ends_between_fields(end: int) -> None:
    if end in ENDS:
        assert len(decode(memoryview(WHOLE)[:end], "GraphDef")["node"]) == ENDS.index(end) + 1
        return
    with pytest.raises(FormatError, match="cut short") as raised:
        decode(memoryview(WHOLE)[:end], "GraphDef")
    assert raised.value.offset is not None


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\x0b", "wire type 3"),
        (b"\x00\x01", "number 0"),
        (b"\x08\x01", "GraphDef.node has the wire type 0"),
        (b"\x0a\x05\x0a\x03\xff\xfe\xfd", "UTF-8"),
        (b"\xff" * 11, "more than 64 bits"),
        (encode("NodeDef", {"name": "x"})[:-1], "cut short"),
    ],
)
def test_no_graph_is_refused(data: bytes, text: str) -> None:
    with pytest.raises(FormatError, match=text):
        decode(memoryview(data), "GraphDef")


def test_deep_nesting_is_refused() -> None:
    data = b""
    for _ in range(150):
        data = varint(1 << 3 | 2) + varint(len(data)) + data
        data = varint(10 << 3 | 2) + varint(len(data)) + data
    with pytest.raises(FormatError):
        decode(memoryview(data), "AttrValue")


@pytest.mark.parametrize("message", sorted(messages()))
def test_every_field_has_a_known_kind(message: str) -> None:
    kinds = {held.kind for held in messages()[message].values()}
    assert kinds <= SCALARS | set(messages())
