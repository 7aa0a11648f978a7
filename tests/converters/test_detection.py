"""A model's format is what its content says, whatever its name; the name decides where the content says nothing."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphir
from graphir.converters.detection import detect_format
from graphir.converters.mxnet import read_params, write_params
from graphir.converters.mxnet.files.checkpoint import is_symbol_text
from graphir.converters.onnx.files.recognition import looks_like_onnx
from graphir.converters.tensorflow.files.recognition import looks_like_tensorflow
from graphir.errors import FormatError, GraphirError, ImportFailure
from graphir.ops.activation import Relu
from graphir.types import DType, TensorType
from graphir.verification.verdict import Verdict
from tests.building import parse_model
from tests.tensorflow.graphdef import encode

SYMBOL = {
    "nodes": [
        {"op": "null", "name": "x", "attrs": {"__shape__": "(2,)"}, "inputs": []},
        {"op": "relu", "name": "y", "inputs": [[0, 0, 0]]},
    ],
    "arg_nodes": [0],
    "heads": [[1, 0, 0]],
}


def graph_def(first: int = 0, operator: str = "Placeholder") -> bytes:
    """A graph whose first node is `first` bytes long, if that is given."""
    attributes = {"dtype": {"type": 1}, "shape": {"shape": {"dim": [{"size": 2}]}}}

    def node(name: str) -> dict[str, object]:
        return {"name": name, "op": operator, "attr": attributes}

    name = "x"
    while first and len(encode("NodeDef", node(name))) < first:
        name += "x"
    nodes = [node(name), {"name": "y", "op": "Relu", "input": [name], "attr": {"T": {"type": 1}}}]
    return encode("GraphDef", {"node": nodes, "versions": {"producer": 1882}})


def saved_model() -> bytes:
    graph = {"node": [{"name": "x", "op": "Placeholder"}]}
    return encode("SavedModel", {"saved_model_schema_version": 1, "meta_graphs": [{"graph_def": graph}]})


def onnx_bytes() -> bytes:
    return bytes(parse_model("g (float[2] x) => (float[2] y) { y = Relu(x) }").SerializeToString())


def own() -> bytes:
    lists: dict[str, list[Any]] = {name: [] for name in ("inputs", "parameters", "nodes", "outputs")}
    return json.dumps({"format": "graphir", "version": 1, "name": "g", **lists}).encode()


def archive(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name in names:
            made.writestr(name, b"{}")
    return file.getvalue()


def npz() -> bytes:
    file = io.BytesIO()
    np.savez(file, w=np.ones(2))
    return file.getvalue()


HDF5 = b"\x89HDF\r\n\x1a\n" + bytes(100)


@pytest.mark.parametrize(
    "name, content, expected",
    [
        pytest.param("m.pb", graph_def(), "tensorflow", id="graph"),
        pytest.param("m.pb", graph_def(123), "tensorflow", id="first-node-of-123-bytes"),
        pytest.param("m", graph_def(123), "tensorflow", id="first-node-of-123-bytes-without-suffix"),
        pytest.param("m.onnx", graph_def(123), "tensorflow", id="graph-named-onnx"),
        pytest.param("m.json", graph_def(123), "tensorflow", id="graph-named-json"),
        pytest.param("m.pb", graph_def()[:40], "tensorflow", id="graph-cut-short"),
        pytest.param("m.bin", saved_model(), "tensorflow", id="saved-model"),
        pytest.param("m.onnx", saved_model(), "tensorflow", id="saved-model-named-onnx"),
        pytest.param("m.bin", b'# a graph\nnode {\n  name: "x"\n}\n', "tensorflow", id="text"),
        pytest.param("m.onnx", onnx_bytes(), "onnx", id="onnx"),
        pytest.param("m.pb", onnx_bytes(), "onnx", id="onnx-named-pb"),
        pytest.param("m", onnx_bytes(), "onnx", id="onnx-without-suffix"),
        pytest.param("m.json", onnx_bytes(), "onnx", id="onnx-named-json"),
        pytest.param("m.h5", onnx_bytes(), "onnx", id="onnx-named-h5"),
        pytest.param("m.onnx", onnx_bytes()[:-4], "onnx", id="onnx-cut-short"),
        pytest.param("m.json", json.dumps(SYMBOL).encode(), "mxnet", id="symbol"),
        pytest.param("m.onnx", json.dumps(SYMBOL).encode(), "mxnet", id="symbol-named-onnx"),
        pytest.param("m", b"\xef\xbb\xbf\n" + json.dumps(SYMBOL).encode(), "mxnet", id="symbol-with-byte-order-mark"),
        pytest.param("m.pb", b"\n" + json.dumps(SYMBOL, indent=2).encode(), "mxnet", id="symbol-behind-a-line-end"),
        pytest.param("m.json", json.dumps({**SYMBOL, "attrs": "graphir"}).encode(), "mxnet", id="symbol-naming-us"),
        pytest.param("m.json", json.dumps(SYMBOL, sort_keys=True).encode(), "mxnet", id="symbol-sorted"),
        pytest.param("m.json", own(), "graphir", id="own"),
        pytest.param("m.onnx", own(), "graphir", id="own-named-onnx"),
        pytest.param("m.bin", json.dumps(json.loads(own()), sort_keys=True).encode(), "graphir", id="own-sorted"),
        pytest.param("m.graphir.json", b'{"nodes": ', "graphir", id="own-cut-short"),
        pytest.param("m.onnx", b'{"nodes": 1', "onnx", id="other-text-named-onnx"),
        pytest.param("m.keras", archive("config.json", "model.weights.h5"), "tensorflow", id="keras"),
        pytest.param("m.h5", archive("config.json", "model.weights.h5"), "tensorflow", id="keras-named-h5"),
        pytest.param("m.keras", HDF5, "tensorflow", id="hdf5-named-keras"),
        pytest.param("m", HDF5, "tensorflow", id="hdf5-without-suffix"),
        pytest.param("m.onnx", HDF5, "tensorflow", id="hdf5-named-onnx"),
        pytest.param("m.npz", npz(), "mxnet", id="npz"),
        pytest.param("m.keras", npz(), "mxnet", id="npz-named-keras"),
        pytest.param("m.bin", (0x112).to_bytes(8, "little") + bytes(40), "mxnet", id="params"),
        pytest.param("m.onnx", b"", "onnx", id="empty"),
    ],
)  # fmt: skip
def test_content_decides(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert detect_format(tmp_path / name) == expected


@pytest.mark.parametrize(
    "name, content, said",
    [
        pytest.param("m", b"", "not a model that graphir reads", id="empty"),
        pytest.param("m.bin", b"PK\x03\x04" + bytes(50), "not a model that graphir reads", id="broken-zip"),
        pytest.param("m.zip", archive("data.pkl"), "not a model that graphir reads", id="pytorch"),
        pytest.param("m.json", b'{"class_name": "Sequential"}', "a Keras architecture without its weights", id="keras"),
        pytest.param("m.json", b'{"modelTopology": {}}', "a TensorFlow.js model", id="tensorflow-js"),
        pytest.param("m.txt", b"version: 2\njobs:\n", "not a model that graphir reads", id="yaml"),
    ],
)
def test_no_model(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=said):
        detect_format(tmp_path / name)


@pytest.mark.parametrize("name", ["gone.onnx", "gone", "x" * 300, "a\0b", "gone/also", "[", "{gone}"])
def test_nothing_there(tmp_path: Path, name: str) -> None:
    with pytest.raises(ImportFailure, match="no such file, folder or checkpoint prefix"):
        detect_format(tmp_path / name)


def test_pipes_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.onnx")
    with pytest.raises(FormatError, match="is no regular file"):
        graphir.load(tmp_path / "m.onnx")


@pytest.mark.parametrize("first", [121, 122, 123, 124, 125, 10, 13, 32, 91])
def test_graph_is_read_whatever_its_first_node_takes(tmp_path: Path, first: int) -> None:
    source = tmp_path / "m.pb"
    source.write_bytes(graph_def(first))
    graphir.convert(source, tmp_path / "m.onnx")
    assert len(graphir.load(tmp_path / "m.onnx")) == 1


@pytest.mark.parametrize("name", ["m.onnx", "m.keras", "m.bin", "symbol", "m.json"])
def test_symbol_of_any_name_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(json.dumps(SYMBOL))
    assert [node.op.name for node in graphir.load(tmp_path / name).nodes] == ["Relu"]


@pytest.mark.parametrize("prefix", ["{brace}", "[bracket]", "a*b", "{", " {x}", "graphir"])
def test_names_with_marks_are_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(f"{prefix}-symbol.json").write_text(json.dumps(SYMBOL))
    write_params(f"{prefix}-0000.params", {"arg:unused": np.ones(1, np.float32)})
    assert len(graphir.load(prefix)) == 1
    assert len(graphir.load(f"{prefix}-symbol.json")) == 1
    assert len(graphir.converters.mxnet.from_symbol(f"{prefix}-symbol.json")) == 1
    assert graphir.verify(f"{prefix}-symbol.json", prefix, against="reference").ok
    assert read_params(f"{prefix}-0000.params").keys() == {"arg:unused"}


@pytest.mark.parametrize(
    "source, expected",
    [(json.dumps(SYMBOL), True), (" \n{}", True), ("m-symbol.json", False), (Path("{x}"), False), (b"{}", False)],
)
def test_symbol_text(source: object, expected: bool) -> None:
    assert is_symbol_text(source) is expected


def _onnx(path: Path) -> None:
    path.write_bytes(onnx_bytes())


def _symbol(path: Path) -> None:
    path.write_text(json.dumps(SYMBOL))


def _graph_def(path: Path) -> None:
    path.write_bytes(graph_def(123))


def _own(path: Path) -> None:
    graph = graphir.Graph("g")
    graph.set_outputs([graph.add(Relu(), graph.add_input("x", TensorType(DType.FLOAT32, (2,))), output="y")])
    graphir.save(graph, path.with_name("m.graphir.json"))
    path.with_name("m.graphir.json").rename(path)


@pytest.mark.parametrize(
    "format, write",
    [("onnx", _onnx), ("mxnet", _symbol), ("tensorflow", _graph_def), ("graphir", _own)],
)
def test_format_that_is_stated(tmp_path: Path, format: str, write: Callable[[Path], None]) -> None:
    source = tmp_path / "odd.name"
    write(source)
    assert len(graphir.load(source, format=format)) == 1
    graphir.convert(source, tmp_path / "m.onnx", model_options=graphir.ModelOptions(format=format))
    params = {"unused": np.ones(1, np.float32)} if format == "mxnet" else None
    options = graphir.ModelOptions(format=format)
    found = graphir.verify(
        source, source, params=params, against="reference", reference_options=options, candidate_options=options
    )
    assert found.verdict is Verdict.NOT_PROVEN if format == "tensorflow" else found.ok  # an import against itself
    session = graphir.Session(source, providers="cpu", format=format)
    assert next(iter(session.run({next(iter(session.inputs)): [1.0, -1.0]}).values())).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("format", ["onnx", "mxnet", "tensorflow", "graphir"])
@pytest.mark.parametrize("content", [b"", b"x", b"{}", onnx_bytes(), graph_def(123), own(), HDF5, npz()])
def test_wrong_format_that_is_stated(tmp_path: Path, format: str, content: bytes) -> None:
    source = tmp_path / "m.bin"
    source.write_bytes(content)
    try:
        graphir.load(source, format=format)
    except GraphirError as error:
        assert str(error)  # noqa: PT017  the right format loads


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300) | st.binary(max_size=200).map(lambda tail: b"\n{" + tail))
def test_recognition_takes_any_bytes(data: bytes) -> None:
    assert looks_like_onnx(data) in (True, False)
    assert looks_like_tensorflow(data) in (True, False)


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(st.text(max_size=30), st.text(max_size=60) | st.integers(), max_size=6),
    st.sampled_from([None, 1, 2, 4]),
    st.text(alphabet="\n\r\t ", max_size=4),
)
def test_no_json_is_a_protobuf(document: dict[str, object], indent: int | None, before: str) -> None:
    data = (before + json.dumps(document, indent=indent, ensure_ascii=False)).encode("utf-8", "surrogatepass")
    assert not looks_like_onnx(data)
    assert not looks_like_tensorflow(data)


def test_a_large_document_of_our_own_is_parsed_by_its_reader_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = graphir.Graph()
    graph.set_outputs([graph.add(Relu(), graph.add_input("x", TensorType(DType.FLOAT32, (2,))), name="nodes")])
    path = tmp_path / "own.graphir.json"
    graphir.save(graph, path)
    monkeypatch.setattr("json.loads", lambda text: pytest.fail("parsed to be recognized"))
    assert detect_format(path) == "graphir"
