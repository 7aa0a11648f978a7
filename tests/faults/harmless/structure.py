"""Rewrites of the model around the operators: names, order, what is stored where, what nobody uses."""

from __future__ import annotations

import onnx
from onnx import helper, version_converter

from tests.faults.builder import Generator
from tests.faults.disguise import disguised
from tests.faults.model import Model, Node

from .rewrite import Rewrite, everywhere

NEWER = 18


def itself(model: Model, generator: Generator) -> bool:
    return True


def renamed(model: Model, generator: Generator) -> bool:
    model.proto = disguised(model.proto)
    return True


def reordered(model: Model, generator: Generator) -> bool:
    """The nodes in another order in which every operand still comes first: the last that can, first."""
    pending, made, order = list(model.graph.node), set(model.inputs) | set(model.weights()), []
    while pending:
        ready = [node for node in pending if all(name in made for name in _needed(node))]
        node = ready[-1]
        pending = [held for held in pending if held is not node]
        made |= set(node.output)
        order.append(node)
    kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in order]
    del model.graph.node[:]
    model.graph.node.extend(kept)
    weights = [onnx.TensorProto.FromString(tensor.SerializeToString()) for tensor in model.graph.initializer]
    del model.graph.initializer[:]
    model.graph.initializer.extend(reversed(weights))
    return True


def _needed(node: Node) -> set[str]:
    """What a node takes, with what its subgraphs take from outside."""
    found = {name for name in node.input if name}
    for attribute in node.attribute:
        inside = {item.name for item in (*attribute.g.input, *attribute.g.initializer)}
        inside |= {name for held in attribute.g.node for name in held.output}
        found |= {name for held in attribute.g.node for name in held.input} - inside
    return found


def outputs_reordered(model: Model, generator: Generator) -> bool:
    items = [onnx.ValueInfoProto.FromString(item.SerializeToString()) for item in model.graph.output]
    del model.graph.output[:]
    model.graph.output.extend(reversed(items))
    return len(items) > 1


def as_constants(model: Model, generator: Generator) -> bool:
    """Every initializer as a Constant in front."""
    made = [helper.make_node("Constant", [], [tensor.name], name=f"{tensor.name}_constant", value=tensor)
            for tensor in model.graph.initializer]  # fmt: skip
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in model.graph.node]
    del model.graph.initializer[:]
    del model.graph.node[:]
    model.graph.node.extend([*made, *nodes])
    return True


def newer_opset(model: Model, generator: Generator) -> bool:
    model.proto = version_converter.convert_version(model.proto, NEWER)
    return True


def dead_ends(model: Model, generator: Generator) -> bool:
    """Nodes and weights that nothing uses."""
    value = next(name for name, array in model.seen.items() if array.dtype.kind == "f" and name not in model.outputs)
    model.graph.node.append(helper.make_node("Exp", [value], ["unused_exp"], name="unused"))
    model.graph.node.append(helper.make_node("Neg", ["unused_exp"], ["unused_neg"], name="unused_too"))
    model.constant(model.seen[value][:1], "unused_weight")
    return True


def more_outputs(model: Model, generator: Generator) -> bool:
    """An inner value as another output."""
    value = next(name for name in reversed(list(model.seen)) if name not in model.outputs and name not in model.inputs)
    model.graph.output.append(onnx.ValueInfoProto(name=value))
    kind = helper.np_dtype_to_tensor_dtype(model.seen[value].dtype)
    model.graph.output[-1].CopyFrom(helper.make_tensor_value_info(value, kind, None))
    return True


def identity(model: Model, node: Node) -> bool:
    model.after(node, "Identity")
    return True


def no_dropout(model: Model, node: Node) -> bool:
    model.bypass(node)
    return True


def computed_twice(model: Model, node: Node) -> bool:
    """A value that several nodes use computed once for each of two of them."""
    users = model.users(node.output[0])
    if len(users) < 2 or len(node.output) > 1 or node.output[0] in model.outputs:
        return False
    again = model.fresh(f"{node.output[0]}_again")
    position, (other, slot) = model.position(node), users[-1]
    made = onnx.NodeProto.FromString(node.SerializeToString())
    made.name, made.output[0] = model.fresh(f"{node.name}_again"), again
    other.input[slot] = again
    model.graph.node.insert(position + 1, made)
    return True


def copied_weights(model: Model, generator: Generator) -> bool:
    """A weight that several nodes share stored once for each."""
    found = False
    for name, array in model.weights().items():
        for node, slot in model.users(name)[1:]:
            node.input[slot] = model.constant(array, f"{name}_copy")
            found = True
    return found


REWRITES = (
    Rewrite("the model itself", itself),
    Rewrite("other names inside", renamed),
    Rewrite("nodes in another order", reordered),
    Rewrite("outputs in another order", outputs_reordered),
    Rewrite("weights as Constant nodes", as_constants),
    Rewrite("a newer opset", newer_opset),
    Rewrite("nodes that nobody uses", dead_ends),
    Rewrite("an output more", more_outputs),
    Rewrite("Identity behind layers", everywhere("Conv Gemm MatMul Relu", identity)),
    Rewrite("Dropout removed", everywhere("Dropout", no_dropout)),
    Rewrite("layers computed twice", everywhere("Conv Relu Add Transpose Identity LayerNormalization", computed_twice)),
    Rewrite("shared weights copied", copied_weights),
)

__all__ = ["REWRITES"]
