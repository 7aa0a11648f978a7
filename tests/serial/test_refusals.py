"""Broken and malicious files: each is refused with a text that says where and why."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from graphir.errors import FormatError, UnsupportedOpError
from graphir.serial.reader import load_graph
from graphir.serial.schema import schema
from tests.typed import present

SCHEMA = Draft202012Validator(schema())
WEIGHTS = "a.graphir.safetensors"

NODE = {
    "name": "conv",
    "op": "Conv",
    "attributes": {"strides": [2, 2], "padding": [[1, 1], [1, 1]]},
    "inputs": ["x", "w", None],
    "outputs": [{"name": "y", "type": ["float32", [1, 4, "(H+1)//2", "(H+1)//2"]]}],
}
DOCUMENT: dict[str, Any] = {
    "format": "graphir",
    "version": 1,
    "weights": WEIGHTS,
    "name": "model",
    "metadata": {"producer": "a test"},
    "inputs": [{"name": "x", "type": ["float32", [1, 3, "H", "H"]]}],
    "parameters": [
        {"name": "w", "type": ["float32", [4, 3, 3, 3]], "stored": "w"},
        {"name": "s", "type": ["int64", [2]], "data": [1, -1]},
        {"name": "t", "type": ["string", [1]], "data": ["text"]},
    ],
    "nodes": [
        NODE,
        {
            "name": "loop",
            "op": "Foreign",
            "inputs": ["y"],
            "outputs": [{"name": "z", "type": [None, None]}],
            "subgraphs": [{"name": "body", "inputs": [], "parameters": [], "nodes": [], "outputs": ["y"]}],
        },
    ],
    "outputs": ["y"],
    "decisions": [["padding", "conv", "why"]],
}
HEADER: dict[str, Any] = {"w": {"dtype": "F32", "shape": [4, 3, 3, 3], "data_offsets": [0, 432]}}
MISSING = object()


def packed(header: object, size: int = 432) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(size)


def written(folder: Path, document: object = DOCUMENT, weights: bytes | None = packed(HEADER)) -> Path:
    path = folder / "a.graphir.json"
    path.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
    if weights is not None:
        (folder / WEIGHTS).write_bytes(weights)
    return path


def changed(place: str, value: object) -> dict[str, Any]:
    """The document with another value at a place such as `nodes.0.op`; MISSING takes it out."""
    document = copy.deepcopy(DOCUMENT)
    *steps, last = [int(step) if step.isdigit() else step for step in place.split(".")]
    holder: Any = document
    for step in steps:
        holder = holder[step]
    if value is MISSING:
        del holder[last]
    else:
        holder[last] = value
    return document


def test_the_document_that_the_rows_break_is_sound(tmp_path: Path) -> None:
    SCHEMA.validate(DOCUMENT)
    graph = load_graph(written(tmp_path))
    graph.check()
    assert present(graph["w"].tensor).numpy().shape == (4, 3, 3, 3)


# Place, value, what the message says, its JSON path, and whether the schema finds it as well.
BROKEN: list[tuple[str, object, str, str, bool]] = [
    ("format", "onnx", "no graphir file", "$.format", True),
    ("format", MISSING, "no graphir file", "$.format", True),
    ("version", 2, "version 2, this graphir reads 1 to 1", "$.version", True),
    ("version", "1", "version '1'", "$.version", True),
    ("version", True, "version True", "$.version", True),
    ("version", 0, "version 0", "$.version", True),
    ("licence", "x", "no such field here: licence", "$", True),
    ("name", 3, "expected a string, found an integer", "$.name", True),
    ("outputs", MISSING, "outputs missing", "$", True),
    ("metadata", ["x"], "expected an object, found a list", "$.metadata", True),
    ("metadata.producer", 1, "expected a string", "$.metadata.producer", True),
    ("decisions.0", ["kind", "node"], "expected [kind, node, text]", "$.decisions[0]", True),
    ("decisions", "x", "expected a list, found a string", "$.decisions", True),
    ("inputs", {}, "expected a list, found an object", "$.inputs", True),
    ("inputs.0", "x", "expected an object, found a string", "$.inputs[0]", True),
    ("inputs.0.name", "", "expected a name, found an empty string", "$.inputs[0].name", True),
    ("inputs.0.name", None, "expected a name, found null", "$.inputs[0].name", True),
    ("inputs.0.stored", "w", "no such field here: stored", "$.inputs[0]", True),
    ("inputs.0.sources", "x", "expected a list", "$.inputs[0].sources", True),
    ("inputs.0.sources", [1], "expected a string", "$.inputs[0].sources", True),
    ("inputs.0.declared", 1, "expected a type", "$.inputs[0].declared", True),
    ("inputs.0.type", "float32", "expected a type", "$.inputs[0].type", True),
    ("inputs.0.type", ["float32"], "expected [dtype, shape], found a list of 1", "$.inputs[0].type", True),
    ("inputs.0.type", ["float31", []], "no such dtype: 'float31'", "$.inputs[0].type[0]", True),
    ("inputs.0.type", [[], []], "no such dtype: []", "$.inputs[0].type[0]", True),
    ("inputs.0.type", ["float32", 3], "expected a list, found an integer", "$.inputs[0].type[1]", True),
    ("inputs.0.type", ["float32", [-1]], "-1 is no size", "$.inputs[0].type[1][0]", True),
    ("inputs.0.type", ["float32", [2**63]], "is no size", "$.inputs[0].type[1][0]", True),
    ("inputs.0.type", ["float32", [True]], "expected a dimension", "$.inputs[0].type[1][0]", True),
    ("inputs.0.type", ["float32", [1.0]], "expected a dimension", "$.inputs[0].type[1][0]", False),
    ("inputs.0.type", ["float32", ["3"]], "'3' is 3; a number is written as a number", "$.inputs[0].type[1][0]", False),
    ("inputs.0.type", ["float32", ["N+"]], "not a dimension: 'N+'", "$.inputs[0].type[1][0]", False),
    ("inputs.0.type", ["float32", ["N//0"]], "not a dimension: 'N//0'", "$.inputs[0].type[1][0]", False),
    ("inputs.0.type", ["float32", ["(" * 3000]], "not a dimension", "$.inputs[0].type[1][0]", False),
    ("inputs.0.type", ["float32", ["N" * 5000]], "at most 4096 are read", "$.inputs[0].type[1][0]", True),
    ("inputs.0.type", ["float32", [1] * 65], "65 axes", "$.inputs[0].type[1]", True),
    ("inputs.0.type", {"list": ["float32", []]}, "no such kind of type: 'list'", "$.inputs[0].type", True),
    ("inputs.0.type", {}, "expected a type", "$.inputs[0].type", True),
    ("inputs.0.type", {"sequence": 1}, "expected a type", "$.inputs[0].type.sequence", True),
    ("inputs.0.type", {"sparse": {"sparse": ["int8", []]}}, "expected [dtype", "$.inputs[0].type.sparse", True),
    ("parameters.0.name", "x", "a value called 'x' exists already", "$.parameters[0].name", False),
    ("parameters.0.stored", 3, "expected a name", "$.parameters[0].stored", True),
    ("parameters.0.stored", "v", "holds no tensor 'v'", "$.parameters[0].stored", False),
    ("parameters.0.type", ["float64", [4, 3, 3, 3]], "expected F64", "$.parameters[0].stored", False),
    ("parameters.0.type", ["float32", [4, 3, 9]], "holds 'w' as F32 [4, 3, 3, 3]", "$.parameters[0].stored", False),
    ("parameters.0.type", ["string", [4]], "strings stand in the JSON", "$.parameters[0].stored", False),
    ("parameters.0.type", ["float32", ["N"]], "elements need a dtype and a shape", "$.parameters[0].type", False),
    ("parameters.0.type", ["float32", None], "elements need a dtype and a shape", "$.parameters[0].type", False),
    ("parameters.0.type", ["int8", [2**40, 2**40]], "more than any memory holds", "$.parameters[0].type", False),
    ("parameters.0.data", [], "not both", "$.parameters[0]", True),
    ("parameters.0.sha256", "ab", "expected 64 hexadecimal digits", "$.parameters[0].sha256", True),
    ("parameters.0.sha256", None, "expected 64 hexadecimal digits", "$.parameters[0].sha256", True),
    ("parameters.0.stored", MISSING, "holds tensors that nothing here refers to: w", "$.weights", False),
    ("parameters.1.sha256", "0" * 64, "not both", "$.parameters[1]", True),
    ("parameters.1.data", [1], "1 elements, expected 2", "$.parameters[1].data", False),
    ("parameters.1.data", [1, 2**63], "9223372036854775808 is no int64", "$.parameters[1].data", False),
    ("parameters.1.data", [1, True], "True is no int64", "$.parameters[1].data", False),
    ("parameters.1.data", [1, 2.0], "2.0 is no int64", "$.parameters[1].data", False),
    ("parameters.1.type", ["float32", [2]], "elements of float32 do not stand", "$.parameters[1].data", False),
    ("parameters.1.type", ["bool", [2]], "1 is no bool", "$.parameters[1].data", False),
    ("parameters.2.data", [1], "expected", "$.parameters[2].data", False),
    ("parameters.2.data", [{"bytes": "?"}], "not base64", "$.parameters[2].data", False),
    ("weights", MISSING, "names no weights file", "$.parameters[0].stored", False),
    ("weights", "../" + WEIGHTS, "is not a plain file name", "$.weights", True),
    ("weights", "..", "is not a plain file name", "$.weights", True),
    ("weights", "/etc/passwd", "is not a plain file name", "$.weights", True),
    ("weights", "a\\b", "is not a plain file name", "$.weights", True),
    ("weights", "a\0b", "is not a plain file name", "$.weights", True),
    ("weights", "", "expected a name", "$.weights", True),
    ("weights", 1, "expected a name", "$.weights", True),
    ("nodes.0.name", "", "expected a name", "$.nodes[0].name", True),
    ("nodes.0.op", 1, "expected a name", "$.nodes[0].op", True),
    ("nodes.0.domain", "x", "no such field here: domain", "$.nodes[0]", True),
    ("nodes.0.inputs", MISSING, "inputs missing", "$.nodes[0]", True),
    ("nodes.0.inputs", ["x"], "found 1 operands", "$.nodes[0]", False),
    ("nodes.0.inputs", ["x", None], "Conv needs its operand W", "$.nodes[0].inputs[1]", False),
    ("nodes.0.inputs", ["x", "v"], "'v' is no value that was produced before", "$.nodes[0].inputs[1]", False),
    ("nodes.0.inputs", ["x", "y"], "'y' is no value that was produced before", "$.nodes[0].inputs[1]", False),
    ("nodes.0.inputs", ["x", {"name": "w", "up": 1}], "is no value", "$.nodes[0].inputs[1]", False),
    ("nodes.0.inputs", ["x", {"name": "w", "up": 0}], "at least 1", "$.nodes[0].inputs[1].up", True),
    ("nodes.0.inputs", ["x", {"name": "w"}], "up missing", "$.nodes[0].inputs[1]", True),
    ("nodes.0.inputs", ["x", 7], "expected a name, found an integer", "$.nodes[0].inputs[1]", True),
    ("nodes.0.inputs", ["x", "s"], "refuses its operands", "$.nodes[0]", False),
    ("nodes.0.outputs", [], "Conv has 1 results, found 0", "$.nodes[0].outputs", False),
    ("nodes.0.outputs.0.name", "x", "a value called 'x' exists already", "$.nodes[0]", False),
    ("nodes.0.outputs.0.type", ["float32", [2, 4, 3, 3]], "is stated as", "$.nodes[0].outputs[0].type", False),
    ("nodes.0.outputs.0.type", ["int8", None], "is stated as", "$.nodes[0].outputs[0].type", False),
    ("nodes.0.attributes", [], "expected an object", "$.nodes[0].attributes", True),
    ("nodes.0.attributes.shape", 1, "Conv has no attribute shape; it has kernel_shape", "$.nodes[0].attributes", False),
    ("nodes.0.attributes.strides", 2, "expected a list", "$.nodes[0].attributes.strides", False),
    ("nodes.0.attributes.strides", [2, "2"], "expected an integer", "$.nodes[0].attributes.strides[1]", False),
    ("nodes.0.attributes.strides", [2, True], "expected an integer", "$.nodes[0].attributes.strides[1]", False),
    ("nodes.0.attributes.strides", [2, 2, 2], "one pair for each of 3 spatial axes", "$.nodes[0].attributes", False),
    ("nodes.0.attributes.strides", [0, 0], "expected every entry to be 1 or more", "$.nodes[0].attributes", False),
    ("nodes.0.attributes.padding", "same", "'same' is no padding", "$.nodes[0].attributes.padding", False),
    ("nodes.0.attributes.padding", [[1]], "expected [before, after]", "$.nodes[0].attributes.padding[0]", False),
    ("nodes.0.attributes.padding", 1, "which the attribute may not be", "$.nodes[0].attributes.padding", False),
    ("nodes.0.attributes.group", 1.5, "expected an integer", "$.nodes[0].attributes.group", False),
    ("nodes.1.attributes", {"results": 2}, "has 2 results, found 1", "$.nodes[1].outputs", False),
    (
        "nodes.1.attributes",
        {"attribute_items": [["a"]]},
        "1 entries, expected 2",
        "$.nodes[1].attributes.attribute_items[0]",
        False,
    ),
    (
        "nodes.1.attributes",
        {"attribute_items": [["a", {"pickle": ""}]]},
        "found pickle",
        "$.nodes[1].attributes.attribute_items[0][1]",
        True,
    ),
    (
        "nodes.1.attributes",
        {"attribute_items": [["a", {"tensor": {"type": ["float32", [4, 3, 3, 3]]}}]]},
        "found nothing that says where its elements are",
        "$.nodes[1].attributes.attribute_items[0][1].tensor",
        False,
    ),
    (
        "nodes.1.attributes",
        {"attribute_items": [["a", {"float": "1.5"}]]},
        "expected a number, inf, -inf or nan",
        "$.nodes[1].attributes.attribute_items[0][1].float",
        True,
    ),
    ("nodes.1.subgraphs.0.outputs", ["q"], "'q' is no value", "$.nodes[1].subgraphs[0].outputs[0]", False),
    ("nodes.1.subgraphs.0.outputs", ["z"], "'z' is no value", "$.nodes[1].subgraphs[0].outputs[0]", False),
    ("nodes.1.subgraphs.0.version", 1, "no such field here: version", "$.nodes[1].subgraphs[0]", True),
    ("nodes.1.subgraphs.0", 1, "expected an object", "$.nodes[1].subgraphs[0]", True),
    ("outputs", ["q"], "'q' is no value", "$.outputs[0]", False),
    ("outputs", [None], "expected a name", "$.outputs[0]", True),
]


@pytest.mark.parametrize(
    ("place", "value", "text", "json_path"),
    [pytest.param(*row[:4], id=f"{row[0]}-{str(row[1])[:20]}") for row in BROKEN],
)
def test_a_broken_document_is_refused(tmp_path: Path, place: str, value: object, text: str, json_path: str) -> None:
    with pytest.raises(FormatError) as caught:
        load_graph(written(tmp_path, changed(place, value)))
    assert text in str(caught.value)
    assert caught.value.json_path == json_path
    assert str(caught.value).startswith(str(tmp_path / "a.graphir.json"))


@pytest.mark.parametrize(
    ("place", "value", "found"),
    [pytest.param(row[0], row[1], row[4], id=f"{row[0]}-{str(row[1])[:20]}") for row in BROKEN],
)
def test_the_schema_refuses_what_a_schema_can(place: str, value: object, found: bool) -> None:
    assert SCHEMA.is_valid(changed(place, value)) is not found


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param(b"", "is not JSON", id="empty"),
        pytest.param(b"\xff\xfe{}", "is not UTF-8 text (at byte 0)", id="UTF-16"),
        pytest.param(b"\xef\xbb\xbf{}", "is not JSON", id="byte order mark"),
        pytest.param(json.dumps(DOCUMENT).encode()[:-200], "is not JSON", id="cut short"),
        pytest.param(json.dumps(DOCUMENT).encode() + b"{}", "Extra data", id="two documents"),
        pytest.param(b"[]", "no graphir file", id="list"),
        pytest.param(b"null", "no graphir file", id="null"),
        pytest.param(b'{"a": NaN}', "NaN is no JSON", id="NaN"),
        pytest.param(b'{"a": -Infinity}', "-Infinity is no JSON", id="infinity"),
        pytest.param(b'{"a": 1, "a": 2}', "'a' comes twice", id="twice"),
        pytest.param(b'{"a": ' + b"9" * 5000 + b"}", "is not JSON", id="long number"),
        pytest.param(b"[" * 200_000, "is not JSON", id="deep"),
    ],
)
def test_what_is_no_document_is_refused(tmp_path: Path, content: bytes, text: str) -> None:
    with pytest.raises(FormatError) as caught:
        load_graph(written(tmp_path, content))
    assert text in str(caught.value)


def entry(**fields: object) -> bytes:
    return packed({"w": {**HEADER["w"], **fields}})


TWO = {"w": HEADER["w"], "v": {"dtype": "U8", "shape": [4], "data_offsets": [432, 436]}}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param(b"", "0 bytes are no safetensors file", id="empty"),
        pytest.param(b"\0" * 7, "7 bytes are no safetensors file", id="seven bytes"),
        pytest.param(bytes(8), "does not begin with {", id="no header"),
        pytest.param(b"\xff" * 8 + b"{}", "a header of 18446744073709551615 bytes in a file of 10", id="huge header"),
        pytest.param((2**27).to_bytes(8, "little") + b"{}", "a header of 134217728 bytes in a file", id="large header"),
        pytest.param(packed(HEADER)[:50], "was the file cut short?", id="cut in the header"),
        pytest.param(packed(HEADER)[:-1], "was the file cut short?", id="cut in the data"),
        pytest.param(packed(HEADER) + b"\0", "432 bytes, but 433 follow the header", id="too long"),
        pytest.param(packed(b" {}", 0), "does not begin with {", id="blank"),
        pytest.param(packed(b"[]", 0), "does not begin with {", id="list"),
        pytest.param(packed(b"{", 0), "the header is not JSON", id="no JSON"),
        pytest.param(packed(b'{"\xff": 1}', 0), "the header is not JSON", id="no UTF-8"),
        pytest.param(packed(b'{"a": ' + b"[" * 200_000, 0), "the header is not JSON", id="deep"),
        pytest.param(packed(b'{"w": 1, "w": 2}', 0), "'w' comes twice", id="twice"),
        pytest.param(packed({"w": 1}), "expected dtype, shape and data_offsets", id="no object"),
        pytest.param(entry(extra=1), "expected dtype, shape and data_offsets, nothing else", id="extra"),
        pytest.param(entry(dtype="F33"), "no dtype of ours: 'F33'", id="dtype"),
        pytest.param(entry(dtype=["F32"]), "no dtype of ours", id="dtype list"),
        pytest.param(entry(dtype="F64"), "F64 [4, 3, 3, 3] takes 864 bytes, found 432", id="dtype size"),
        pytest.param(entry(shape=3), "the shape is not a list of sizes", id="shape"),
        pytest.param(entry(shape=[-4, -3, 3, 3]), "the shape is not a list of sizes", id="negative"),
        pytest.param(entry(shape=[4.0, 3, 3, 3]), "the shape is not a list of sizes", id="float size"),
        pytest.param(entry(shape=[2**62, 2**62]), "bytes, found 432", id="overflow"),
        pytest.param(entry(shape=[4, 3, 3, True]), "the shape is not a list of sizes", id="bool size"),
        pytest.param(entry(data_offsets=[0]), "data_offsets are not [begin, end]", id="one offset"),
        pytest.param(entry(data_offsets=[432, 0]), "data_offsets are not [begin, end]", id="backwards"),
        pytest.param(entry(data_offsets=[-432, 0]), "data_offsets are not [begin, end]", id="before the data"),
        pytest.param(entry(data_offsets=[8, 440]), "leaves a hole before it", id="hole"),
        pytest.param(entry(data_offsets=[2**60, 2**60 + 432]), "leaves a hole before it", id="far away"),
        pytest.param(
            packed({**TWO, "v": {**TWO["v"], "data_offsets": [428, 432]}}),
            "'v' begins at 428, expected 432: it overlaps",
            id="overlap",
        ),
        pytest.param(packed(TWO, 436), "nothing here refers to: v", id="unknown tensor"),
        pytest.param(packed({"__metadata__": {}}, 0), "holds no tensor 'w'", id="nothing in it"),
    ],
)
def test_broken_weights_are_refused(tmp_path: Path, content: bytes, text: str) -> None:
    with pytest.raises(FormatError) as caught:
        load_graph(written(tmp_path, weights=content))
    assert text in str(caught.value)
    assert WEIGHTS in str(caught.value)


def as_folder(path: Path) -> None:
    path.mkdir()


def as_pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        pytest.param(lambda path: None, "cannot read the weights: No such file", id="missing"),
        pytest.param(as_folder, "is no file", id="folder"),
        pytest.param(as_pipe, "is no file", id="pipe"),
    ],
)
def test_weights_that_are_no_file_are_refused(tmp_path: Path, make: Callable[[Path], None], text: str) -> None:
    make(tmp_path / WEIGHTS)
    with pytest.raises(FormatError, match=text):
        load_graph(written(tmp_path, weights=None))


def test_a_missing_document_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read: No such file"):
        load_graph(tmp_path / "a.graphir.json")


def test_all_unknown_operators_are_listed(tmp_path: Path) -> None:
    document = copy.deepcopy(DOCUMENT)
    document["nodes"][0]["op"] = "Convolve"
    document["nodes"].append({"name": "again", "op": "Convolve"})
    document["nodes"][1]["subgraphs"][0]["nodes"] = [{"name": "deep", "op": "Eval"}]
    with pytest.raises(UnsupportedOpError) as caught:
        load_graph(written(tmp_path, document))
    assert [(gap.operator, gap.nodes) for gap in caught.value.gaps] == [
        ("Convolve", ("conv", "again")),
        ("Eval", ("deep",)),
    ]


def test_two_results_of_one_name_are_refused(tmp_path: Path) -> None:
    results = [{"name": "y", "type": [None, None]}] * 2
    twice = {**NODE, "op": "Foreign", "attributes": {"results": 2}, "outputs": results}
    with pytest.raises(FormatError, match="two results of one node have the same name"):
        load_graph(written(tmp_path, changed("nodes.0", twice)))


def test_types_without_end_are_refused(tmp_path: Path) -> None:
    text = json.dumps(DOCUMENT).replace('["float32", [1, 3, "H", "H"]]', '{"sequence": ' * 900 + "1" + "}" * 900)
    with pytest.raises(FormatError):
        load_graph(written(tmp_path, text.encode()))


def test_weights_that_are_cut_after_loading_are_noticed(tmp_path: Path) -> None:
    graph = load_graph(written(tmp_path))
    (tmp_path / WEIGHTS).write_bytes(b"")
    with pytest.raises(FormatError, match="cut short since"):
        present(graph["w"].tensor).numpy()


def test_elements_in_the_document_cannot_be_written_to(tmp_path: Path) -> None:
    array = present(load_graph(written(tmp_path))["s"].tensor).numpy()
    with pytest.raises(ValueError, match="read-only"):
        np.add(array, 1, out=array)


SECOND: tuple[tuple[dict[str, Any], str], ...] = (
    ({"inputs": [True]}, r"\$.nodes\[1\].inputs\[0\]"),
    ({"inputs": ["gone"]}, r"'gone' is no value that was produced before .at \$.nodes\[1\].inputs\[0\]"),
    ({"inputs": [["x"]]}, r"\$.nodes\[1\].inputs\[0\]"),
    ({"outputs": []}, r"Relu has 1 results, found 0 .at \$.nodes\[1\].outputs"),
    ({"outputs": [{"name": "y", "type": ["float32", [2]]}]}, r"'y' exists already"),
    ({"outputs": [{"name": "", "type": ["float32", [2]]}]}, r"empty string .at \$.nodes\[1\].outputs\[0\].name"),
    ({"outputs": [{"name": "z", "type": ["float32", [2.0]]}]}, r"\$.nodes\[1\].outputs\[0\].type\[1\]\[0\]"),
    ({"outputs": [{"name": "z", "type": ["float32", [True]]}]}, r"\$.nodes\[1\].outputs\[0\].type\[1\]\[0\]"),
    ({"outputs": [{"name": "z", "type": ["float32", [3]]}]}, r"z is stated as .* .at \$.nodes\[1\].outputs\[0\].type"),
    ({"outputs": [{"name": "z", "type": ["float32", [2]], "more": 1}]}, r"no such field here: more"),
    ({"outputs": {"name": "z"}}, r"expected a list, found an object .at \$.nodes\[1\].outputs"),
    ({"attributes": {"alpha": 1}}, r"\$.nodes\[1\].attributes"),
    ({"attributes": None}, r"\$.nodes\[1\].attributes"),
    ({"more": 1}, r"no such field here: more"),
    ({"name": ["n"]}, r"expected a name, found a list .at \$.nodes\[1\].name"),
    ({"op": ["Relu"]}, r"\$.nodes\[1\].op"),
)


@pytest.mark.parametrize(("change", "text"), SECOND, ids=str)
def test_a_second_node_of_the_same_kind_is_refused_as_the_first_would_be(
    tmp_path: Path, change: dict[str, Any], text: str
) -> None:
    type_ = ["float32", [2]]
    nodes = [
        {"name": "a", "op": "Relu", "inputs": ["x"], "outputs": [{"name": "y", "type": type_}]},
        {"name": "b", "op": "Relu", "inputs": ["y"], "outputs": [{"name": "z", "type": type_}]} | change,
    ]
    document = {
        "format": "graphir", "version": 1, "name": "g", "inputs": [{"name": "x", "type": type_}], "parameters": [],
        "nodes": nodes, "outputs": [],
    }
    path = tmp_path / "g.graphir.json"
    path.write_text(json.dumps(document))
    with pytest.raises(FormatError, match=text):
        load_graph(path)
