"""Plugins that read operators of ONNX files and of TensorFlow: the example of docs/plugins.md, and what goes wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import graphir as library
from graphir import plugins
from tests.building import make_model, save_model
from tests.cli.conftest import Command
from tests.requirements import needing
from tests.tensorflow.graphdef import const, function, graph_def, node, placeholder

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "plugins.md"
EXAMPLES = dict(re.findall(r"<!-- (\w+\.py) -->\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL))
WEIGHT = np.random.default_rng(5).standard_normal((3, 4)).astype(np.float32)
ONNX, TENSORFLOW = "com.example:ScaledGate", "Example>ScaledGate"


def onnx_file(path: Path, *nodes: onnx.NodeProto, outputs: tuple[str, ...] = ("y",)) -> Path:
    """A model of x (N, 3), d = x w and these nodes."""
    dense = helper.make_node("MatMul", ["x", "w"], ["d"], name="dense")
    model = make_model(
        [dense, *nodes], {"x": ["N", 3]}, {name: ["N", 4] for name in outputs}, {"w": WEIGHT},
        domains={"com.example": 1},
    )  # fmt: skip
    return save_model(path, model)


def gate(inputs: list[str], outputs: list[str], name: str = "ScaledGate", **attributes: Any) -> onnx.NodeProto:
    """A node of the domain."""
    return helper.make_node(name, inputs, outputs, domain="com.example", **attributes)


def two_gates(path: Path) -> Path:
    """One gate behind the other, of which the second result alone is used, under names of its own."""
    return onnx_file(
        path, gate(["d"], ["a", "b"], name="ScaledGate", beta=1.5), helper.make_node("Add", ["a", "b"], ["c"]),
        gate(["c"], ["", "e"]), helper.make_node("Neg", ["e"], ["y"]),
    )  # fmt: skip


def tensorflow_file(path: Path, *nodes: Any, functions: tuple[Any, ...] = ()) -> Path:
    """A frozen graph of x (N, 3), d = x w and these nodes."""
    dense = node("MatMul", "d", ["x", "w"], T="float32", transpose_a=False, transpose_b=False)
    first = placeholder("x", "float32", (None, 3)), const("w", WEIGHT), dense
    path.write_bytes(graph_def(*first, *nodes, functions=functions))
    return path


def two_gates_of_tensorflow(path: Path) -> Path:
    """The same in TensorFlow; the second gate stands before the first in the file."""
    return tensorflow_file(
        path,
        node(TENSORFLOW, "second", ["c"], T="float32"),
        node(TENSORFLOW, "first", ["d"], beta=1.5),
        node("AddV2", "c", ["first", "first:1"], T="float32"),
        node("Neg", "y", ["second:1"], T="float32"),
    )


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x.astype(np.float64)))


def expected(x: Any) -> Any:
    """What both models compute."""
    dense = x.astype(np.float64) @ WEIGHT
    first = sigmoid(1.5 * dense)
    return -sigmoid(dense * first + first)


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """The plugin of the page."""
    path = tmp_path / "gate.py"
    path.write_text(EXAMPLES["gate.py"])
    return path


MODELS: dict[str, Callable[[Path], Path]] = {"m.onnx": two_gates, "m.pb": two_gates_of_tensorflow}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A model with two operators of the plugin."""
    return MODELS[request.param](tmp_path / request.param)


def test_an_operator_is_converted_and_computes_the_same(model: Path, plugin: Path, graphir: Command) -> None:
    target = model.with_name("out.onnx")
    told = graphir("convert", model, target, "--plugin", plugin, "-i", "x:N,3", "--json")
    assert told.code == 0, told.err
    decisions = [one["text"] for one in told.data["decisions"] if one["kind"] == "plugin"]
    assert [str(plugin) in text for text in decisions] == [True, True]
    assert {one.domain for one in onnx.load(target).graph.node} == {""}
    x = np.random.default_rng(1).standard_normal((2, 3)).astype(np.float32)
    (found,) = library.Session(target).run({"x": x}).values()
    np.testing.assert_allclose(found, expected(x), rtol=1e-5)


@pytest.mark.parametrize("command", ["check", "layers", "summary", "cost", "shapes", "memory"])
def test_commands_that_read_a_model_take_plugins(command: str, model: Path, plugin: Path, graphir: Command) -> None:
    told = graphir(command, model, "--plugin", plugin, "-i", "x:2,3")
    assert told.code == 0, told.err


def test_an_onnx_file_is_verified_with_its_operators_by_numpy(tmp_path: Path, plugin: Path, graphir: Command) -> None:
    model = two_gates(tmp_path / "m.onnx")
    target = tmp_path / "out.onnx"
    told = graphir("convert", model, target, "--plugin", plugin, "-i", "x:2,3", "--verify", "--json")
    assert told.code == 0, told.err
    assert "com.example.ScaledGate by the plugin's own numpy" in json.dumps(told.data["verification"])
    assert graphir("verify", model, target, "--plugin", plugin, "-i", "x:2,3", "--per-layer").code == 0
    wrong = onnx.load(target)
    (held,) = (tensor for tensor in wrong.graph.initializer if tensor.name == "w")
    held.CopyFrom(numpy_helper.from_array(WEIGHT * np.float32(1.1), "w"))
    onnx.save(wrong, target)
    assert graphir("verify", model, target, "--plugin", plugin, "-i", "x:2,3").code == 4


def test_a_part_of_an_onnx_file_is_verified_too(tmp_path: Path, plugin: Path, graphir: Command) -> None:
    model, target = two_gates(tmp_path / "m.onnx"), tmp_path / "out.onnx"
    told = graphir(
        "convert", model, target, "--plugin", plugin, "-i", "x:2,3", "--outputs", "c", "--verify", "--json"
    )
    assert told.code == 0, told.err
    assert "by the plugin's own numpy" in json.dumps(told.data["verification"])


@pytest.mark.live
def test_tensorflow_computes_what_lies_around_the_operators(tmp_path: Path, plugin: Path, graphir: Command) -> None:
    with needing("TensorFlow"):
        import_module("tensorflow")
    model = two_gates_of_tensorflow(tmp_path / "m.pb")
    target = tmp_path / "out.onnx"
    told = graphir("convert", model, target, "--plugin", plugin, "-i", "x:2,3", "--verify", "--json")
    assert told.code == 0, told.err
    judged = json.dumps(told.data["verification"])
    assert f"{TENSORFLOW} by the plugin's own numpy" in judged
    assert "TensorFlow 2" in judged
    live = ("--plugin", plugin, "-i", "x:2,3", "--against", "live")
    told = graphir("verify", model, target, *live, "--per-layer")
    assert told.code == 0, told.err
    wrong = onnx.load(target)
    (held,) = (tensor for tensor in wrong.graph.initializer if numpy_helper.to_array(tensor).shape == (3, 4))
    held.CopyFrom(numpy_helper.from_array(WEIGHT * np.float32(1.1), held.name))
    onnx.save(wrong, target)
    assert graphir("verify", model, target, *live).code == 4


def in_a_function(path: Path) -> Path:
    """A gate inside a function, which names its result."""
    inner = function(
        "f", {"a": "float32"}, {"r": ("float32", "inner:gate:0")}, node(TENSORFLOW, "inner", ["a"], beta=2.0)
    )
    call = {
        "name": "y", "op": "PartitionedCall", "input": ["d"],
        "attr": {
            "f": {"func": {"name": "f"}}, "Tin": {"list": {"type": [1]}}, "Tout": {"list": {"type": [1]}},
        },
    }  # fmt: skip
    return tensorflow_file(path, call, functions=(inner,))


def test_inside_a_function_the_imported_graph_is_the_reference(
    tmp_path: Path, plugin: Path, graphir: Command
) -> None:
    model, target = in_a_function(tmp_path / "m.pb"), tmp_path / "out.onnx"
    told = graphir("convert", model, target, "--plugin", plugin, "-i", "x:2,3", "--verify", "--json")
    assert told.code == 5, told.err  # not proven: an import held against itself
    x = np.random.default_rng(1).standard_normal((2, 3)).astype(np.float32)
    (found,) = library.Session(target).run({"x": x}).values()
    np.testing.assert_allclose(found, sigmoid(2 * (x.astype(np.float64) @ WEIGHT)), rtol=1e-5)


def test_an_operator_of_onnx_becomes_one_of_another_domain(tmp_path: Path, graphir: Command) -> None:
    plugin = tmp_path / "levels.py"
    text = EXAMPLES["levels.py"].replace('"mxnet", "Custom:levels"', '"onnx", "com.example:Buckets"')
    plugin.write_text(text)
    model = onnx_file(
        tmp_path / "m.onnx", gate(["d"], ["l"], name="Buckets", count=3), helper.make_node("ReduceMax", ["l"], ["y"],
        axes=[2], keepdims=0),
    )  # fmt: skip
    target, own = tmp_path / "out.onnx", tmp_path / "net.graphir.json"
    told = graphir("convert", model, target, "--plugin", plugin, "-i", "x:2,3", "--verify", "--json")
    assert told.code == 0, told.err
    judged = json.dumps(told.data["verification"])
    assert "com.example.Buckets by the plugin's own numpy" in judged
    assert "com.example.Levels by the plugin's own numpy" in judged
    assert [one.op_type for one in onnx.load(target).graph.node] == ["MatMul", "Levels", "ReduceMax"]
    with plugins.using(plugin):
        library.save(library.load(model, shapes={"x": (2, 3)}), own)
        assert [type(one.op).__name__ for one in library.load(own).nodes] == ["MatMul", "Levels", "ReduceMax"]


def test_without_a_plugin_onnx_keeps_the_operator_and_tensorflow_is_refused(
    tmp_path: Path, graphir: Command
) -> None:
    kept = tmp_path / "out.onnx"
    assert graphir("convert", two_gates(tmp_path / "m.onnx"), kept).code == 0
    assert [one.op_type for one in onnx.load(kept).graph.node if one.domain] == ["ScaledGate", "ScaledGate"]
    told = graphir("convert", two_gates_of_tensorflow(tmp_path / "m.pb"), kept)
    assert told.code == 1
    assert "docs/plugins.md" in told.err


def test_mxnet_takes_what_the_operators_are_made_of(model: Path, plugin: Path, graphir: Command) -> None:
    prefix = model.with_name("out-symbol.json")
    told = graphir("convert", model, prefix, "--plugin", plugin, "-i", "x:2,3")
    assert told.code == 0, told.err


NAMES = {
    "'onnx', 'ScaledGate', print": "state domain:Name",
    "'onnx', 'ai.onnx:Conv', print": "state domain:Name",
    "'onnx', ':Conv', print": "state domain:Name",
    "'tensorflow', 'Conv2D', print": "graphir reads Conv2D itself",
    "'tensorflow', 'VariableV2', print": "graphir reads VariableV2 itself",
    "'caffe', 'A', print": "operators are read of mxnet, onnx, tensorflow",
}


@pytest.mark.parametrize("stated", NAMES)
def test_names_that_no_plugin_may_state(stated: str, tmp_path: Path, graphir: Command) -> None:
    plugin = tmp_path / "bad.py"
    plugin.write_text(f"def register(registry):\n    registry.source({stated})\n")
    model = two_gates_of_tensorflow(tmp_path / "m.pb") if "tensorflow" in stated else two_gates(tmp_path / "m.onnx")
    told = graphir("summary", model, "--plugin", plugin)
    assert told.code == 1
    assert NAMES[stated] in told.err


BAD = {
    "attributes={'beta': 1}": r"the attribute beta of .*ScaledGate is 1\.5, expected int",
    "attributes={'alpha': float}": r"wants the attribute alpha",
    "inputs=()": r"it has 1 inputs, .*states 0",
    "outputs=('a',)": r"(it has 2 outputs|gave 2 values for 1 outputs)",
    "outputs=('a', 'b', 'c')": r"gave 2 values for 3 outputs",
}


@pytest.mark.parametrize("stated", BAD)
def test_what_does_not_fit_a_node_is_told(stated: str, model: Path, plugin: Path, graphir: Command) -> None:
    text = EXAMPLES["gate.py"]
    given = {"outputs": '("gated", "gate")', "attributes": '{"beta": 1.0}'}
    for name, value in given.items():
        if stated.startswith(name):
            text = text.replace(f"{name}={value}", stated)
    plugin.write_text(text if stated in text else text.replace("reference=", f"{stated}, reference="))
    told = graphir("summary", model, "--plugin", plugin, "-i", "x:2,3")
    assert told.code == 1
    assert re.search(BAD[stated], told.err), told.err
    assert "defect of graphir" not in told.err


def test_a_reference_of_another_number_of_results_is_told(tmp_path: Path, plugin: Path, graphir: Command) -> None:
    plugin.write_text(EXAMPLES["gate.py"].replace("return data * gate, gate\n\n\ndef", "return gate\n\n\ndef"))
    model = two_gates(tmp_path / "m.onnx")
    told = graphir("convert", model, tmp_path / "out.onnx", "--plugin", plugin, "-i", "x:2,3", "--verify")
    assert told.code == 1
    assert "ScaledGate computed 1 results, expected 2" in told.err


def test_an_operator_without_a_reference(tmp_path: Path, plugin: Path, graphir: Command) -> None:
    plugin.write_text(EXAMPLES["gate.py"].replace("reference=scaled_gate, ", ""))
    target = tmp_path / "out.onnx"
    options = (target, "--plugin", plugin, "-i", "x:2,3", "--verify")
    told = graphir("convert", two_gates_of_tensorflow(tmp_path / "m.pb"), *options)
    assert told.code == 5, told.err
    told = graphir("convert", two_gates(tmp_path / "m.onnx"), *options)
    assert told.code in (1, 5)
    assert "ScaledGate" in told.err + told.out
