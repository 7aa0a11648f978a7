"""Models with one list that is long: each a function of a length and a folder, which returns the path of the model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from graphir.converters.mxnet import write_params
from tests.tensorflow.graphdef import encode

Build = Callable[[int, Path], Path]
make: Any = onnx.helper
FLOAT = onnx.TensorProto.FLOAT
Nodes = list[dict[str, Any]]


def variable(name: str, **attributes: str) -> dict[str, Any]:
    return {"op": "null", "name": name, "inputs": [], "attrs": attributes}


def node(op: str, name: str, *inputs: int, **attributes: object) -> dict[str, Any]:
    texts = {key: str(value) for key, value in attributes.items()}
    return {"op": op, "name": name, "attrs": texts, "inputs": [[slot, 0, 0] for slot in inputs]}


def symbol(folder: Path, nodes: Nodes, heads: Sequence[int], **attributes: Any) -> Path:
    """A symbol of these nodes."""
    document = {
        "nodes": nodes, "arg_nodes": [slot for slot, one in enumerate(nodes) if one["op"] == "null"],
        "heads": [[head, 0, 0] for head in heads], "attrs": {"mxnet_version": ["int", 10901], **attributes},
    }  # fmt: skip
    path = folder / "m-symbol.json"
    path.write_text(json.dumps(document))
    return path


DATA = variable("data", __shape__="(1, 3, 8, 8)")


def chain(count: int, op: str, **attributes: object) -> Nodes:
    """An input and nodes one behind the other."""
    return [DATA, *(node(op, f"n{slot}", slot, **attributes) for slot in range(count))]


def mxnet_norms(count: int, folder: Path) -> Path:
    nodes: Nodes = [DATA, *(variable(name, __shape__="(3,)") for name in ("g", "b", "m", "v"))]
    nodes.append(node("BatchNorm", "n0", 0, 1, 2, 3, 4, fix_gamma=True))
    nodes += [node("BatchNorm", f"n{slot}", slot + 4, 1, 2, 3, 4, fix_gamma=True) for slot in range(1, count)]
    write_params(folder / "m-0000.params", dict.fromkeys(("arg:g", "arg:b", "aux:m", "aux:v"), np.ones(3, np.float32)))
    return symbol(folder, nodes, [len(nodes) - 1])


def mxnet_loops(count: int, folder: Path) -> Path:
    """Loops, each with a body of its own."""
    body = {
        "nodes": [variable("s"), variable("t"), node("elemwise_add", "sum", 0, 1)], "arg_nodes": [0, 1],
        "heads": [[2, 0, 0], [2, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]},
    }  # fmt: skip
    nodes: Nodes = [variable("data", __shape__="(2, 3)"), variable("state", __shape__="(3,)")]
    places = {"in_data_locs": "(0,)", "in_state_locs": "(1,)", "remain_locs": "()", "num_outputs": 2, "num_out_data": 1}
    for slot in range(count):
        nodes.append(node("_foreach", f"loop{slot}", 0, 1, num_args=3, **places) | {"subgraphs": [body]})
    return symbol(folder, nodes, range(2, len(nodes)))


MXNET: dict[str, Build] = {
    "heads on one node": lambda count, folder: symbol(folder, [DATA, node("relu", "r", 0)], [1] * count),
    "heads on nodes": lambda count, folder: symbol(folder, chain(count, "relu"), range(1, count + 1)),
    "heads on an input": lambda count, folder: symbol(folder, [DATA, node("relu", "r", 0)], [1] + [0] * count),
    "nodes": lambda count, folder: symbol(folder, chain(count, "relu"), [count]),
    "nodes of one name": lambda count, folder: symbol(
        folder, [DATA, *(node("relu", "r", slot) for slot in range(count))], [count]
    ),
    "inputs of a node": lambda count, folder: symbol(
        folder, [*(variable(f"x{slot}", __shape__="(2, 3)") for slot in range(count)),
                 node("add_n", "sum", *range(count), num_args=count)], [count],
    ),
    "one input often": lambda count, folder: symbol(
        folder, [DATA, node("add_n", "sum", *[0] * count, num_args=count)], [1]
    ),
    "inputs that nothing uses": lambda count, folder: symbol(
        folder, [DATA, *(variable(f"x{slot}") for slot in range(count)), node("relu", "r", 0)], [count + 1]
    ),
    "consumers of a node": lambda count, folder: symbol(
        folder, [DATA, node("relu", "r", 0), *(node("sigmoid", f"s{slot}", 1) for slot in range(count)),
                 node("add_n", "sum", *range(2, count + 2), num_args=count)], [count + 2],
    ),
    "outputs of a node": lambda count, folder: symbol(
        folder, [variable("data", __shape__=f"(2, {count})"), node("SliceChannel", "s", 0, num_outputs=count)], [1]
    ),
    "attributes of a node": lambda count, folder: symbol(
        folder, [DATA, node("relu", "r", 0, **{f"__a{slot}__": slot for slot in range(count)})], [1]
    ),
    "attributes of an input": lambda count, folder: symbol(
        folder, [variable("data", __shape__="(2, 3)", **{f"__a{slot}__": "1" for slot in range(count)}),
                 node("relu", "r", 0)], [1],
    ),
    "attributes of the graph": lambda count, folder: symbol(
        folder, [DATA, node("relu", "r", 0)], [1], **{f"a{slot}": ["int", slot] for slot in range(count)}
    ),
    "decisions": mxnet_norms,
    "dropouts": lambda count, folder: symbol(folder, chain(count, "Dropout", p=0.5), [count]),
    "subgraphs": mxnet_loops,
    "a name": lambda count, folder: symbol(folder, [DATA, node("relu", "r" * 16 * count, 0)], [1]),
    "a shape": lambda count, folder: symbol(
        folder, [variable("data", __shape__="(2, 3)"), node("Reshape", "r", 0, shape=f"({'1,' * count}6)")], [1]
    ),
}  # fmt: skip


def model(folder: Path, nodes: Sequence[Any], **fields: Any) -> Path:
    """An ONNX model of these nodes."""
    inputs = fields.pop("inputs", [make.make_tensor_value_info("x", FLOAT, [2, 3])])
    outputs = fields.pop("outputs", None) or [make.make_tensor_value_info(nodes[-1].output[0], FLOAT, None)]
    functions, opsets = fields.pop("functions", ()), fields.pop("opsets", ())
    metadata = fields.pop("metadata", {})
    made = make.make_model(
        make.make_graph(nodes, "g", inputs, outputs, **fields), ir_version=10, functions=functions,
        opset_imports=[make.make_opsetid("", 18), *opsets],
    )  # fmt: skip
    make.set_model_props(made, metadata)
    path = folder / "m.onnx"
    path.write_bytes(made.SerializeToString())
    return path


def value(name: str, shape: Any = (2, 3)) -> Any:
    return make.make_tensor_value_info(name, FLOAT, shape)


def relu(source: str, result: str) -> Any:
    return make.make_node("Relu", [source], [result], name=f"n_{result}")


def relus(count: int) -> list[Any]:
    return [relu("x" if not slot else f"y{slot - 1}", f"y{slot}") for slot in range(count)]


def branches(count: int, folder: Path) -> Path:
    """Choices, each with branches of its own."""
    nodes = [make.make_node("ReduceSum", ["x"], ["total"], keepdims=0), make.make_node("Cast", ["total"], ["c"], to=9)]
    for slot in range(count):
        parts = {
            f"{name}_branch": make.make_graph([make.make_node(op, ["x"], [f"{name}{slot}"])], name, [],
                                              [value(f"{name}{slot}", None)])
            for name, op in (("then", "Relu"), ("else", "Sigmoid"))
        }  # fmt: skip
        nodes.append(make.make_node("If", ["c"], [f"y{slot}"], **parts))
    return model(folder, nodes, outputs=[value(f"y{slot}", None) for slot in range(count)])


def called(count: int, folder: Path) -> Path:
    """Functions, each called once."""
    functions = [
        make.make_function("own", f"F{slot}", ["a"], ["b"], [relu("a", "b")], [make.make_opsetid("", 18)])
        for slot in range(count)
    ]
    nodes = [make.make_node(f"F{slot}", ["x"], [f"y{slot}"], domain="own") for slot in range(count)]
    outputs = [value(f"y{slot}", None) for slot in range(count)]
    return model(folder, nodes, functions=functions, opsets=[make.make_opsetid("own", 1)], outputs=outputs)


ONNX: dict[str, Build] = {
    "inputs that nothing uses": lambda count, folder: model(
        folder, [relu("x", "y")], inputs=[value("x"), *(value(f"x{slot}") for slot in range(count))]
    ),
    "inputs of a node": lambda count, folder: model(
        folder, [make.make_node("Sum", [f"x{slot}" for slot in range(count)], ["y"])],
        inputs=[value(f"x{slot}") for slot in range(count)],
    ),
    "one input often": lambda count, folder: model(folder, [make.make_node("Concat", ["x"] * count, ["y"], axis=0)]),
    "outputs of a node": lambda count, folder: model(
        folder, [make.make_node("Split", ["x"], [f"y{slot}" for slot in range(count)], axis=1, num_outputs=count)],
        inputs=[value("x", (2, count))], outputs=[value(f"y{slot}", None) for slot in range(count)],
    ),
    "outputs that nothing uses": lambda count, folder: model(
        folder, [make.make_node("Split", ["x"], [f"y{slot}" for slot in range(count)], axis=1, num_outputs=count)],
        inputs=[value("x", (2, count))],
    ),
    "outputs of nodes": lambda count, folder: model(
        folder, relus(count), outputs=[value(f"y{slot}", None) for slot in range(count)]
    ),
    "nodes": lambda count, folder: model(folder, relus(count)),
    "consumers of a node": lambda count, folder: model(
        folder, [relu("x", "r"), *(make.make_node("Sigmoid", ["r"], [f"y{slot}"]) for slot in range(count)),
                 make.make_node("Sum", [f"y{slot}" for slot in range(count)], ["z"])],
    ),
    "weights": lambda count, folder: model(
        folder, [make.make_node("Sum", ["x", *(f"w{slot}" for slot in range(count))], ["y"])],
        initializer=[make.make_tensor(f"w{slot}", FLOAT, [3], [1.0, 2.0, 3.0]) for slot in range(count)],
    ),
    "weights that nothing uses": lambda count, folder: model(
        folder, [relu("x", "y")],
        initializer=[make.make_tensor(f"w{slot}", FLOAT, [3], [1.0, 2.0, 3.0]) for slot in range(count)],
    ),
    "shapes of inner values": lambda count, folder: model(
        folder, relus(count), value_info=[value(f"y{slot}") for slot in range(count - 1)]
    ),
    "shapes of no values": lambda count, folder: model(
        folder, [relu("x", "y")], value_info=[value(f"z{slot}") for slot in range(count)]
    ),
    "named sizes": lambda count, folder: model(
        folder, [make.make_node("Sum", [f"x{slot}" for slot in range(count)], ["y"])],
        inputs=[value(f"x{slot}", (f"N{slot}", 1)) for slot in range(count)],
    ),
    "attributes of a node": lambda count, folder: model(
        folder, [make.make_node("Own", ["x"], ["y"], domain="own", **{f"a{slot}": slot for slot in range(count)})],
        opsets=[make.make_opsetid("own", 1)],
    ),
    "an attribute": lambda count, folder: model(
        folder, [make.make_node("Own", ["x"], ["y"], domain="own", a=list(range(count)))],
        opsets=[make.make_opsetid("own", 1)],
    ),
    "domains": lambda count, folder: model(
        folder, [relu("x", "y")], opsets=[make.make_opsetid(f"own{slot}", 1) for slot in range(count)]
    ),
    "metadata": lambda count, folder: model(
        folder, [relu("x", "y")], metadata={f"key{slot}": "value" for slot in range(count)}
    ),
    "functions": called,
    "subgraphs": branches,
    "dropouts": lambda count, folder: model(
        folder, [make.make_node("Dropout", [f"y{slot - 1}" if slot else "x"], [f"y{slot}"]) for slot in range(count)]
    ),
    "a name": lambda count, folder: model(folder, [relu("x", "y" * 16 * count)]),
    "names that begin alike": lambda count, folder: model(
        folder, [relu("x" if not slot else f"{'y' * 200}{slot - 1}", f"{'y' * 200}{slot}") for slot in range(count)]
    ),
}  # fmt: skip


def graph_def(folder: Path, nodes: Nodes, **fields: Any) -> Path:
    """A frozen graph of TensorFlow."""
    path = folder / "m.pb"
    path.write_bytes(encode("GraphDef", {"node": nodes, "versions": {"producer": 1882}, **fields}))
    return path


def placeholder(name: str) -> dict[str, Any]:
    shape = {"shape": {"dim": [{"size": 2}, {"size": 3}]}}
    return {"name": name, "op": "Placeholder", "attr": {"dtype": {"type": 1}, "shape": shape}}


def operation(op: str, name: str, *inputs: str, **attributes: Any) -> dict[str, Any]:
    return {"name": name, "op": op, "input": list(inputs), "attr": {"T": {"type": 1}, **attributes}}


def rectified(source: str, name: str) -> dict[str, Any]:
    return operation("Relu", name, source)


def tensorflow_chain(count: int) -> Nodes:
    return [placeholder("x"), *(rectified("x" if not slot else f"y{slot - 1}", f"y{slot}") for slot in range(count))]


TENSORFLOW: dict[str, Build] = {
    "nodes": lambda count, folder: graph_def(folder, tensorflow_chain(count)),
    "outputs": lambda count, folder: graph_def(
        folder, [placeholder("x"), *(rectified("x", f"y{slot}") for slot in range(count))]
    ),
    "inputs": lambda count, folder: graph_def(
        folder, [*(placeholder(f"x{slot}") for slot in range(count)),
                 operation("AddN", "y", *(f"x{slot}" for slot in range(count)), N={"i": count})],
    ),
    "control inputs": lambda count, folder: graph_def(
        folder, [*tensorflow_chain(count),
                 operation("Relu", "z", f"y{count - 1}", *(f"^y{slot}" for slot in range(count)))],
    ),
    "attributes": lambda count, folder: graph_def(
        folder, [placeholder("x"), operation("Relu", "y", "x", **{f"_a{slot}": {"i": slot} for slot in range(count)})]
    ),
    "names in folders": lambda count, folder: graph_def(
        folder, [placeholder("x"), *(rectified("x" if not slot else f"{'s/' * 40}y{slot - 1}", f"{'s/' * 40}y{slot}")
                                     for slot in range(count))],
    ),
}  # fmt: skip


def own(folder: Path, nodes: Nodes, **fields: Any) -> Path:
    """A model of graphir's own."""
    document = {
        "format": "graphir", "version": 1, "name": "g", "inputs": [{"name": "x", "type": ["float32", [2, 3]]}],
        "parameters": [], "nodes": nodes, "outputs": [nodes[-1]["outputs"][0]["name"]], **fields,
    }  # fmt: skip
    path = folder / "m.graphir.json"
    path.write_text(json.dumps(document))
    return path


def own_node(source: str, name: str) -> dict[str, Any]:
    return {"name": f"n_{name}", "op": "Relu", "inputs": [source],
            "outputs": [{"name": name, "type": ["float32", [2, 3]]}]}  # fmt: skip


def own_chain(count: int) -> Nodes:
    return [own_node("x" if not slot else f"y{slot - 1}", f"y{slot}") for slot in range(count)]


GRAPHIR: dict[str, Build] = {
    "nodes": lambda count, folder: own(folder, own_chain(count)),
    "outputs": lambda count, folder: own(folder, own_chain(count), outputs=[f"y{slot}" for slot in range(count)]),
    "inputs that nothing uses": lambda count, folder: own(
        folder, own_chain(1),
        inputs=[{"name": name, "type": ["float32", [2, 3]]} for name in ("x", *(f"x{slot}" for slot in range(count)))],
    ),
    "decisions": lambda count, folder: own(
        folder, own_chain(1),
        decisions=[["other", f"n{slot}", "some text"] for slot in range(count)],
    ),
    "metadata": lambda count, folder: own(
        folder, own_chain(1), metadata={f"key{slot}": "value" for slot in range(count)}
    ),
}  # fmt: skip

FORMATS: Mapping[str, Mapping[str, Build]] = {
    "mxnet": MXNET, "onnx": ONNX, "tensorflow": TENSORFLOW, "graphir": GRAPHIR
}  # fmt: skip

__all__ = ["FORMATS", "Build"]
