"""`mx.onnx.export_model`: MXNet's signature and argument forms, and every probe of the old exporter right."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from graphir.converters.mxnet import mx, write_params
from graphir.converters.mxnet.mx.onnx import exported_name
from graphir.errors import ExportFailure, GraphirError, ImportFailure, UnsupportedOpError
from tests.building import run_model
from tests.converters.mxnet.mx.probes import PROBES, Probe
from tests.equivalence.live import Live
from tests.requirements import missing
from tests.typed import untyped

# Relative to the largest magnitude. float16 is compared at its own precision.
LIMITS = {"float32": 2e-5, "float16": 4e-3, "float64": 1e-6}


def distance(found: Any, expected: Any) -> float:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    left, right = found.astype(np.float64), expected.astype(np.float64)
    return float(np.abs(left - right).max(initial=0.0)) / max(float(np.abs(right).max(initial=0.0)), 1e-30)


@pytest.fixture(scope="module")
def lives() -> Iterator[dict[bool, Live]]:
    """Live MXNet without and with oneDNN."""
    with Live() as plain, Live(onednn=True) as onednn:
        yield {False: plain, True: onednn}


def expected_of(probe: Probe, symbol: Any, arrays: dict[str, Any], lives: dict[bool, Live]) -> dict[str, Any]:
    """What live MXNet computes; labels, which nothing reads, are zeros."""
    names = symbol.list_arguments()
    shapes = symbol.infer_shape(**{name: arrays[name].shape for name in names if name in arrays})[0]
    labels = {name: np.zeros(shape, np.float32) for name, shape in zip(names, shapes, strict=True)}
    return lives[probe.onednn].run(symbol.tojson(), labels | arrays)


def exported(probe: Probe, mxnet: ModuleType, path: Path, **options: Any) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """The live symbol, its feeds and parameters, after it was exported with live arrays."""
    symbol = probe.build(mxnet)
    feeds, params = probe.arrays(symbol)
    wanted = [name for name in symbol.list_inputs() if name in feeds]
    mx.onnx.export_model(
        symbol,
        {f"arg:{name}": mxnet.nd.array(array, dtype=array.dtype) for name, array in params.items()},
        [feeds[name].shape for name in wanted],
        [feeds[name].dtype.type for name in wanted],
        str(path),
        **options,
    )
    return symbol, feeds, params


@pytest.mark.live
@pytest.mark.parametrize(
    ("probe", "dynamic"),
    [
        *(pytest.param(probe, False, id=f"{probe.name}-fixed") for probe in PROBES),
        *(pytest.param(probe, True, id=f"{probe.name}-dynamic") for probe in PROBES if not probe.sized),
    ],
)
def test_probe(probe: Probe, dynamic: bool, mxnet: ModuleType, lives: dict[bool, Live], tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    symbol, feeds, params = exported(probe, mxnet, path, dynamic=dynamic)
    expected = expected_of(probe, symbol, feeds | params, lives)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    results = run_model(str(path), feeds)
    assert list(results) == [exported_name(name) for name in expected]
    errors = [distance(one, other) for one, other in zip(results.values(), expected.values(), strict=True)]
    limits = [LIMITS.get(str(array.dtype), 0.0) for array in expected.values()]
    assert all(error <= limit for error, limit in zip(errors, limits, strict=True)), errors


@pytest.mark.live
@pytest.mark.parametrize("probe", [probe for probe in PROBES if probe.sized], ids=lambda probe: probe.name)
def test_probe_that_needs_sizes_says_so(probe: Probe, mxnet: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(ImportFailure, match="needs the sizes of data") as caught:
        exported(probe, mxnet, tmp_path / "model.onnx", dynamic=True)
    assert "dynamic_input_shapes" in caught.value.__notes__[0]
    assert not (tmp_path / "model.onnx").exists()


def test_every_probe_of_the_old_exporter_is_here(shared: Path) -> None:
    lines = (shared / "facts" / "mx2onnx_failures.txt").read_text().splitlines()
    named = {line[:46].strip() for line in lines if line and not line.startswith("#")}
    assert named == {probe.name for probe in PROBES}


def source_of(name: str, place: str) -> ast.FunctionDef:
    """A function of the installed MXNet; its exporter cannot be imported beside today's onnx, so it is only read."""
    spec = importlib.util.find_spec("mxnet")
    if spec is None or not spec.submodule_search_locations:
        missing("MXNet", "MXNet is not installed")
    text = (Path(spec.submodule_search_locations[0]) / place).read_text()
    return next(node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == name)


def stated_parameters(function: ast.FunctionDef) -> list[tuple[str, object]]:
    """Names and defaults in order; `np.float32` by its text."""
    arguments = function.args.args
    defaults = [None] * (len(arguments) - len(function.args.defaults)) + list(function.args.defaults)
    texts = ["required" if default is None else ast.unparse(default) for default in defaults]
    return [(argument.arg, text) for argument, text in zip(arguments, texts, strict=True)]


def our_parameters(function: Any) -> list[tuple[str, object]]:
    """The same of a function of ours, less what can be given by keyword only."""
    texts = {inspect.Parameter.empty: "required", np.float32: "np.float32"}
    return [
        (name, texts[found.default] if found.default in (*texts,) else repr(found.default))
        for name, found in inspect.signature(function).parameters.items()
        if found.kind is not inspect.Parameter.KEYWORD_ONLY
    ]


@pytest.mark.live
@pytest.mark.parametrize(
    ("function", "place"),
    [
        pytest.param(mx.onnx.export_model, "onnx/mx2onnx/_export_model.py", id="export_model"),
        pytest.param(mx.onnx.get_operator_support, "onnx/mx2onnx/_export_model.py", id="get_operator_support"),
        pytest.param(mx.contrib.onnx.import_model, "contrib/onnx/onnx2mx/import_model.py", id="import_model"),
        pytest.param(mx.contrib.onnx.get_model_metadata, "contrib/onnx/onnx2mx/import_model.py", id="metadata"),
        pytest.param(mx.contrib.onnx.import_to_gluon, "contrib/onnx/onnx2mx/import_to_gluon.py", id="gluon"),
        pytest.param(untyped(mx).model.load_checkpoint, "model.py", id="load_checkpoint"),
        pytest.param(untyped(mx).model.save_checkpoint, "model.py", id="save_checkpoint"),
    ],
)
def test_signature_is_that_of_mxnet(function: Any, place: str) -> None:
    assert our_parameters(function) == stated_parameters(source_of(function.__name__, place))


NET = {
    "w": np.arange(10, dtype=np.float32).reshape(5, 2) / 7,
    "b": np.ones(5, np.float32),
}
NET_JSON = """{"nodes": [
  {"op": "null", "name": "x", "inputs": []}, {"op": "null", "name": "y", "inputs": []},
  {"op": "null", "name": "w", "inputs": []}, {"op": "null", "name": "b", "inputs": []},
  {"op": "null", "name": "out_label", "inputs": []},
  {"op": "elemwise_add", "name": "sum", "inputs": [[0, 0, 0], [1, 0, 0]]},
  {"op": "FullyConnected", "name": "fc", "attrs": {"num_hidden": "5"}, "inputs": [[5, 0, 0], [2, 0, 0], [3, 0, 0]]},
  {"op": "SoftmaxOutput", "name": "out", "inputs": [[6, 0, 0], [4, 0, 0]]}
  ], "arg_nodes": [0, 1, 2, 3, 4], "heads": [[7, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}"""
FEEDS = {"x": np.array([[1, 2], [3, 4], [5, 6]], np.float32), "y": np.ones((3, 2), np.float32)}


def expected_of_net() -> Any:
    logits = (FEEDS["x"] + FEEDS["y"]) @ NET["w"].T + NET["b"]
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """The net as files."""
    (tmp_path / "net-symbol.json").write_text(NET_JSON)
    write_params(tmp_path / "net-0003.params", {f"arg:{name}": array for name, array in NET.items()})
    return str(tmp_path / "net-symbol.json"), str(tmp_path / "net-0003.params")


class Stranger:
    """A symbol of another package."""

    def tojson(self) -> str:
        return NET_JSON


SHAPES = [(3, 2), (3, 2)]
PREFIXED = {f"arg:{name}": mx.nd.array(array) for name, array in NET.items()}
GOOD = [
    pytest.param({"sym": Stranger(), "params": NET, "in_shapes": SHAPES}, id="any symbol, numpy arrays"),
    pytest.param({"sym": mx.sym.load_json(NET_JSON), "params": PREFIXED, "in_shapes": SHAPES}, id="our objects"),
    pytest.param({"sym": NET_JSON, "params": [NET, {}], "in_shapes": SHAPES}, id="pair of mappings"),
    pytest.param({"sym": "file", "params": "file", "in_shapes": SHAPES}, id="paths"),
    pytest.param({"sym": "file", "params": NET, "in_shapes": SHAPES}, id="path and mapping"),
    pytest.param({"in_shapes": SHAPES, "in_types": [np.float32, "float32"]}, id="types one by one"),
    pytest.param({"in_shapes": SHAPES, "in_types": np.dtype("float32")}, id="one type"),
    pytest.param({"input_shape": SHAPES, "input_type": np.float32}, id="old names"),
    pytest.param({"in_shapes": SHAPES, "input_shape": [(3, 2), (3, 2)]}, id="both names alike"),
    pytest.param({"in_shapes": SHAPES, "dynamic": True}, id="dynamic"),
    pytest.param({"in_shapes": SHAPES, "dynamic": True, "dynamic_input_shapes": [(None, 2)] * 2}, id="open batch"),
    pytest.param({"dynamic": True, "dynamic_input_shapes": [("N", 2), ("N", 2)]}, id="named batch"),
    pytest.param({"in_shapes": SHAPES, "opset_version": 13}, id="opset"),
    pytest.param({"in_shapes": SHAPES, "run_shape_inference": True}, id="inner types"),
]


LABELLED = [
    pytest.param([(3, 2), (3, 2), (3,)], ["x", "y", "out_label"], id="its shape is given"),
    pytest.param([(3, 2), (3, 2)], ["x", "y"], id="no shape is given"),
]


def export(arguments: dict[str, Any], files: tuple[str, str], path: Path) -> str:
    given = {"sym": NET_JSON, "params": NET, **arguments}
    for place, name in enumerate(("sym", "params")):
        if isinstance(given[name], str) and given[name] == "file":
            given[name] = files[place]
    return mx.onnx.export_model(**given, onnx_file_path=str(path))


@pytest.mark.parametrize(("shapes", "expected"), LABELLED)
@pytest.mark.parametrize("dynamic", [False, True])
def test_label_stays_where_it_was_given(
    shapes: list[tuple[int, ...]], expected: list[str], dynamic: bool, tmp_path: Path
) -> None:
    path = tmp_path / "net.onnx"
    mx.onnx.export_model(NET_JSON, NET, shapes, onnx_file_path=str(path), dynamic=dynamic)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    assert [value.name for value in session.get_inputs()] == expected
    arrays = [*FEEDS.values(), np.zeros(3, np.float32)]
    (found,) = session.run(None, dict(zip(expected, arrays, strict=False)))
    np.testing.assert_allclose(found, expected_of_net(), rtol=1e-6)


@pytest.mark.parametrize("arguments", GOOD)
def test_form_of_arguments(arguments: dict[str, Any], files: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    assert export(arguments, files, path) == str(path)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    results = run_model(str(path), FEEDS)
    assert list(results) == ["out"]
    assert distance(results["out"], expected_of_net()) < 1e-6


BAD = [
    pytest.param({}, "number of axes of every input; unknown are x, y", id="no shapes"),
    pytest.param({"in_shapes": [(3, 2)]}, "in_shapes has 1 entries.*are x, y and the label", id="too few shapes"),
    pytest.param({"in_shapes": SHAPES * 2}, "in_shapes has 4 entries", id="too many shapes"),
    pytest.param({"in_shapes": [(3, 2), (3, 4)]}, "x: float32.3, 2.*y: float32.3, 4", id="shapes that do not fit"),
    pytest.param({"in_shapes": SHAPES, "in_types": [np.float32]}, "in_types has 1 entries", id="too few types"),
    pytest.param({"in_shapes": SHAPES, "in_types": "number"}, "in_types is 'number'", id="no type"),
    pytest.param({"in_shapes": SHAPES, "in_types": np.int32}, "int32", id="a type that does not fit"),
    pytest.param({"in_shapes": SHAPES, "dynamic_input_shapes": SHAPES}, "dynamic is not True", id="not dynamic"),
    pytest.param(
        {"in_shapes": SHAPES, "dynamic": True, "dynamic_input_shapes": [(None, 3)] * 2},
        r"x: dynamic_input_shapes says \(None, 3\), in_shapes \(3, 2\)",
        id="another size",
    ),
    pytest.param(
        {"in_shapes": SHAPES, "dynamic": True, "dynamic_input_shapes": [(None,)] * 2}, "do not fit", id="another rank"
    ),
    pytest.param({"in_shapes": SHAPES, "input_shape": [(1, 2)]}, "give one of them", id="both names, two shapes"),
    pytest.param({"in_shapes": [(0, 2), (3, 2)]}, r"0 in the shape \(0, 2\) is no size", id="size 0"),
    pytest.param({"in_shapes": [(3.5, 2), (3, 2)]}, r"3.5 in the shape", id="half a size"),
    pytest.param({"params": 3}, "params is a int", id="no parameters"),
    pytest.param({"params": [NET, NET, NET]}, "params is a list", id="three mappings"),
    pytest.param({"params": {"w": NET["w"]}}, "missing parameter: b", id="a parameter is missing"),
    pytest.param({"sym": "nowhere.json"}, "nowhere.json", id="no file"),
    pytest.param({"in_shapes": SHAPES, "opset_version": 7}, "opset 7 is out of range", id="opset"),
]


@pytest.mark.parametrize(("arguments", "text"), BAD)
def test_refused_arguments(arguments: dict[str, Any], text: str, files: tuple[str, str], tmp_path: Path) -> None:
    with pytest.raises(GraphirError, match=text):
        export(arguments, files, tmp_path / "net.onnx")
    assert not (tmp_path / "net.onnx").exists()


def sizes(path: Path) -> list[list[Any]]:
    inputs = onnx.load(path).graph.input
    return [[dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in inputs]


def test_named_sizes_stay(files: tuple[str, str], tmp_path: Path) -> None:
    export({"dynamic": True, "dynamic_input_shapes": [("N", 2), ("N", 2)]}, files, tmp_path / "net.onnx")
    assert sizes(tmp_path / "net.onnx") == [["N", 2], ["N", 2]]


def test_one_shape_stands_for_a_list_of_it(tmp_path: Path) -> None:
    one = NET_JSON.replace("[[0, 0, 0], [1, 0, 0]]", "[[0, 0, 0], [0, 0, 0]]")
    mx.onnx.export_model(one, NET, (3, 2), onnx_file_path=str(tmp_path / "net.onnx"))
    assert sizes(tmp_path / "net.onnx") == [[3, 2]]


def test_shape_inference_states_inner_types(files: tuple[str, str], tmp_path: Path) -> None:
    export({"in_shapes": SHAPES, "run_shape_inference": True}, files, tmp_path / "net.onnx")
    graph = onnx.load(tmp_path / "net.onnx").graph
    assert {value.name for value in graph.value_info} == {name for node in graph.node[:-1] for name in node.output}


def test_decisions_and_nodes_are_logged(
    files: tuple[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        export({"in_shapes": SHAPES, "verbose": True}, files, tmp_path / "net.onnx")
    assert "label input removed" in caplog.text
    assert "Converting: " in caplog.text
    assert "Exported ONNX file" in caplog.text


def test_old_place_takes_the_opset_as_seventh(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    mx.contrib.onnx.export_model(NET_JSON, NET, SHAPES, np.float32, str(path), False, 14)
    assert onnx.load(path).opset_import[0].version == 14


def test_old_place_takes_dynamic_as_seventh(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    mx.contrib.onnx.export_model(NET_JSON, NET, SHAPES, np.float32, str(path), False, True, [("N", 2), ("N", 2)])
    assert sizes(path)[0] == ["N", 2]


def test_all_unsupported_operators_are_named(tmp_path: Path) -> None:
    broken = NET_JSON.replace('"elemwise_add"', '"Nothing"').replace('"FullyConnected"', '"Custom"')
    with pytest.raises(UnsupportedOpError, match=r"(?s)Nothing.*Custom"):
        mx.onnx.export_model(broken, NET, SHAPES, onnx_file_path=str(tmp_path / "net.onnx"))


def test_operator_support() -> None:
    assert {"Convolution", "BatchNorm", "broadcast_maximum"} <= set(mx.onnx.get_operator_support())
    with pytest.raises(ExportFailure, match="opset 12"):
        mx.onnx.get_operator_support(12)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("fc", "fc_output"), ["fc", "fc_output"]),
        (("fc_output", "fc"), ["fc_output", "fc"]),
        (("a", "x"), ["a", "x_output"]),
    ],
    ids=["free", "freed by another", "an input's name"],
)
def test_output_names(names: tuple[str, str], expected: list[str], tmp_path: Path) -> None:
    nodes: list[dict[str, Any]] = [{"op": "null", "name": "x", "inputs": []}]
    nodes += [{"op": "relu", "name": name, "inputs": [[0, 0, 0]]} for name in names]
    symbol = json.dumps({"nodes": nodes, "arg_nodes": [0], "heads": [[1, 0, 0], [2, 0, 0]]})
    path = mx.onnx.export_model(symbol, {}, [(2, 3)], onnx_file_path=str(tmp_path / "net.onnx"))
    assert [value.name for value in onnx.load(path).graph.output] == expected
