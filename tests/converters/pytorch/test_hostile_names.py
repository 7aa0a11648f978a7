"""Names and texts of a model that are meant to become code: none of them does."""

from __future__ import annotations

import ast
import builtins
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

from graphir import Graph, TensorType
from graphir.converters.onnx import from_model
from graphir.converters.pytorch import to_module
from graphir.ops.base import Operator
from graphir.ops.blocks import DepthToSpace, SpaceToDepth
from graphir.ops.elementwise import Abs
from graphir.ops.special_functions import Gamma
from graphir.types import DType, symbol
from tests.converters.pytorch.running import need_torch, run_module, run_session

make = onnx.helper
FLOAT = onnx.TensorProto.FLOAT
TOUCH = "open('acted','w')"
TEXTS = {
    "string": f'"); {TOUCH} #',
    "apostrophe": f"'); {TOUCH} #",
    "docstring": f'"""\n{TOUCH}\n"""',
    "raw docstring": f"""'{"''"}\n{TOUCH}\n'{"''"}""",
    "escape": f'\\"""\n{TOUCH}',
    "line": f"x\n{TOUCH}\n",
    "return": f"x\r{TOUCH}",
    "separator": f"x\u2028{TOUCH}\u2029",
    "form": f"x\x0c{TOUCH}\x0b",
    "format": "{" + TOUCH + "}",
    "comment": f"# {TOUCH}",
    "call": TOUCH,
    "direction": f"\u202e{TOUCH}",
    "zero": f"x\x00{TOUCH}",
    "mark": "\x001:0\x00",
    "keyword": "class",
    "soft keyword": "match",
    "self": "self",
    "builtin": "__import__",
    "module": "torch",
    "method": "load_state_dict",
    "attribute": "__class__",
    "init": "__init__",
    "forward": "forward",
    "wide": "\uff4f\uff50\uff45\uff4e",
    "empty": " ",
    "digits": "0",
    "long": "a" * 5000,
    "brackets": "]})",
    "surrounded": f"')+{TOUCH}+('",
}
PLACES = ("values", "nodes", "graph", "producer")


def model(text: str, place: str) -> onnx.ModelProto:
    """A model in which everything of one kind has the text in its name."""
    names = {name: f"{name}{text}" if place == "values" else name for name in "xwbyzk"}
    called = text if place == "nodes" else ""
    weights = [
        onnx.numpy_helper.from_array(np.ones((4, 3, 1, 1), np.float32), names["w"]),
        onnx.numpy_helper.from_array(np.full((1, 4, 1, 1), 2.0, np.float32), names["b"]),
    ]
    nodes = [
        make.make_node("Conv", [names["x"], names["w"]], [names["y"]], name=called),
        make.make_node("Mul", [names["y"], names["b"]], [names["k"]], name=f"{called}2" if called else ""),
        make.make_node("Relu", [names["k"]], [names["z"]], name=f"{called}3" if called else ""),
    ]
    size = text if place == "sizes" else "N"
    graph = make.make_graph(
        nodes, text if place == "graph" else "g", [make.make_tensor_value_info(names["x"], FLOAT, [size, 3, 4, 4])],
        [make.make_tensor_value_info(names["z"], FLOAT, None)], weights,
    )  # fmt: skip
    opset = [make.make_opsetid("", 17)]
    made = make.make_model(graph, opset_imports=opset, ir_version=8, doc_string=text if place == "producer" else "")
    if place == "producer":
        made.producer_name = made.producer_version = text
    return made


def calls(text: str) -> Iterator[str]:
    """The names that a text calls or reads without being given them."""
    return (node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))


@pytest.mark.parametrize(("place", "kind"), list(itertools.product(PLACES, TEXTS)))
def test_no_text_of_a_model_becomes_code(
    place: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_torch()
    text = TEXTS[kind]
    monkeypatch.chdir(tmp_path)
    graph = from_model(model(text, place))
    module = to_module(graph)
    written = module.text(f"{graph.name} {text}")
    for code in (written, module.recording[0]):
        assert code.isascii()
        assert not (set(calls(code)) & set(dir(builtins))) - {"super", "str", "__file__"}
        assert "acted" not in {node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)}
    assert max(map(len, written.splitlines())) <= 120
    found, _ = run_module(graph, [np.ones((2, 3, 4, 4), np.float32)])
    np.testing.assert_array_equal(found[0], np.full((2, 4, 4, 4), 6.0, np.float32))
    assert list(tmp_path.iterdir()) == []


FUNCTIONS: dict[str, tuple[Operator, int]] = {
    "depth_to_space": (DepthToSpace(2), 16), "space_to_depth": (SpaceToDepth(2), 1), "gamma": (Gamma(), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_value_has_the_name_of_a_function_that_is_called_behind_it(name: str) -> None:
    need_torch()
    op, channels = FUNCTIONS[name]
    graph = Graph("net")
    data = graph.add_input("data", TensorType(DType.FLOAT32, (symbol("N"), channels, 4, 8)))
    first = graph.add(op, data, name=name)
    graph.set_outputs([first, graph.add(op, graph.add(Abs(), data), name=f"{name}_again")])
    feed = np.random.default_rng(0).uniform(1, 2, (2, channels, 4, 8)).astype(np.float32)
    found, text = run_module(graph, [feed])
    assert text.count(f"def {name}(") == 1
    np.testing.assert_allclose(found, run_session(graph, {"data": feed}), rtol=1e-4)


def test_what_is_written_is_the_same_each_time() -> None:
    first, second = (to_module(from_model(model("x", "values"))) for _ in range(2))
    assert first.text("t") == second.text("t")
    assert list(first.tensors) == list(second.tensors)
