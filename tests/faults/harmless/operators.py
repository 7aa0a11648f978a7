"""Rewrites of single operators: composed of others, or said otherwise."""

from __future__ import annotations

import numpy as np

from tests.faults.model import Model, Node, get, put

from .rewrite import Rewrite, everywhere, replaced


def number(model: Model, node: Node, value: float) -> str:
    """A constant of the node's type."""
    return model.constant(np.array(value, model.seen[node.output[0]].dtype), "number")


def relu_as_max(model: Model, node: Node) -> bool:
    model.become(node, "Max", [node.input[0], number(model, node, 0.0)])
    return True


def clip_as_min_max(model: Model, node: Node) -> bool:
    inner = model.fresh(f"{node.name}_low")
    x, low, high = node.input
    return replaced(model, node, [("Max", [x, low], inner, {}), ("Min", [inner, high], node.output[0], {})])


def wide_clip(model: Model, node: Node) -> bool:
    """A Clip that bounds nothing behind an activation."""
    model.after(node, "Clip", number(model, node, -np.inf), number(model, node, np.inf))
    return True


def leaky_as_prelu(model: Model, node: Node) -> bool:
    model.become(node, "PRelu", [node.input[0], number(model, node, get(node, "alpha", 0.01))])
    return True


def sigmoid_by_tanh(model: Model, node: Node) -> bool:
    half, names = number(model, node, 0.5), [model.fresh(f"{node.name}_{part}") for part in ("half", "tanh", "part")]
    return replaced(model, node, [
        ("Mul", [node.input[0], half], names[0], {}), ("Tanh", [names[0]], names[1], {}),
        ("Mul", [names[1], half], names[2], {}), ("Add", [names[2], half], node.output[0], {}),
    ])  # fmt: skip


def hard_swish_by_parts(model: Model, node: Node) -> bool:
    gate = model.fresh(f"{node.name}_gate")
    return replaced(model, node, [
        ("HardSigmoid", [node.input[0]], gate, {"alpha": 1 / 6, "beta": 0.5}),
        ("Mul", [node.input[0], gate], node.output[0], {}),
    ])  # fmt: skip


def softmax_by_parts(model: Model, node: Node) -> bool:
    """exp(x - max) / sum, or x - max - log(sum(exp(x - max)))."""
    axes, names = [get(node, "axis", -1)], [
        model.fresh(f"{node.name}_{part}") for part in ("max", "less", "exp", "sum", "log")
    ]
    steps: list[tuple[str, list[str], str, dict[str, object]]] = [
        ("ReduceMax", [node.input[0]], names[0], {"axes": axes}),
        ("Sub", [node.input[0], names[0]], names[1], {}),
        ("Exp", [names[1]], names[2], {}),
        ("ReduceSum", [names[2], model.constant(np.array(axes, np.int64))], names[3], {}),
    ]
    if node.op_type == "Softmax":
        return replaced(model, node, [*steps, ("Div", [names[2], names[3]], node.output[0], {})])
    return replaced(model, node, [
        *steps, ("Log", [names[3]], names[4], {}), ("Sub", [names[1], names[4]], node.output[0], {}),
    ])  # fmt: skip


def layer_norm_by_parts(model: Model, node: Node) -> bool:
    parts = ("mean", "less", "square", "variance", "more", "root", "ratio", "scaled")
    mean, less, square, variance, more, root, ratio, scaled = (model.fresh(f"{node.name}_{part}") for part in parts)
    return replaced(model, node, [
        ("ReduceMean", [node.input[0]], mean, {"axes": [-1]}),
        ("Sub", [node.input[0], mean], less, {}),
        ("Mul", [less, less], square, {}),
        ("ReduceMean", [square], variance, {"axes": [-1]}),
        ("Add", [variance, number(model, node, get(node, "epsilon", 1e-5))], more, {}),
        ("Sqrt", [more], root, {}),
        ("Div", [less, root], ratio, {}),
        ("Mul", [ratio, node.input[1]], scaled, {}),
        ("Add", [scaled, node.input[2]], node.output[0], {}),
    ])  # fmt: skip


def div_as_mul(model: Model, node: Node) -> bool:
    below, after = model.operand(node, 1), model.sole_user(node.output[0])
    decides = after is not None and after.op_type in ("Floor", "Round")  # where a last place decides
    if below is None or below.dtype.kind != "f" or decides:
        return False
    model.become(node, "Mul", [node.input[0], model.constant((1 / below).astype(below.dtype), "reciprocal")])
    return True


def sub_as_add(model: Model, node: Node) -> bool:
    negative = model.fresh(f"{node.name}_negative")
    model.insert(model.position(node), "Neg", [node.input[1]], [negative])
    model.become(node, "Add", [node.input[0], negative])
    return True


def commuted(model: Model, node: Node) -> bool:
    node.input[0], node.input[1] = node.input[1], node.input[0]
    return True


def reassociated(model: Model, node: Node) -> bool:
    """(a + b) + c as a + (b + c)."""
    inner = model.producer(node.input[0])
    if inner is None or inner.op_type != "Add" or model.sole_user(inner.output[0]) is None:
        return False
    first, second = inner.input
    third, middle = node.input[1], model.fresh(f"{node.name}_second")
    model.remove(inner)
    model.insert(model.position(node), "Add", [second, third], [middle])
    node.input[:] = [first, middle]
    return True


def products_merged(model: Model, node: Node) -> bool:
    """(x * a) * b as x * (a * b), the constants folded."""
    inner = model.producer(node.input[0])
    outer, held = model.operand(node, 1), None if inner is None or inner.op_type != "Mul" else model.operand(inner, 1)
    if inner is None or outer is None or held is None or model.sole_user(inner.output[0]) is None:
        return False
    node.input[:] = [inner.input[0], model.constant(held * outer, "product")]
    model.remove(inner)
    return True


def sum_as_adds(model: Model, node: Node) -> bool:
    first, second, *rest = node.input
    held = first
    steps: list[tuple[str, list[str], str, dict[str, object]]] = []
    for place, value in enumerate((second, *rest)):
        made = node.output[0] if place == len(rest) else model.fresh(f"{node.name}_part")
        steps.append(("Add", [held, value], made, {}))
        held = made
    return replaced(model, node, steps)


def nested_concat(model: Model, node: Node) -> bool:
    if len(node.input) < 3:
        return False
    inner = model.fresh(f"{node.name}_first")
    model.insert(model.position(node), "Concat", node.input[:2], [inner], axis=get(node, "axis"))
    node.input[:] = [inner, *node.input[2:]]
    return True


def flatten_as_reshape(model: Model, node: Node) -> bool:
    model.become(node, "Reshape", [node.input[0], model.constant(np.array([0, -1], np.int64))])
    return True


def reshape_as_flatten(model: Model, node: Node) -> bool:
    sizes = model.operand(node, 1)
    if sizes is None or sizes.tolist() != [0, -1]:
        return False
    model.become(node, "Flatten", [node.input[0]], axis=1)
    return True


def computed_shape(model: Model, node: Node) -> bool:
    """The batch of a Reshape taken from the shape of what is reshaped."""
    sizes = model.operand(node, 1)
    if sizes is None or sizes[0] != 0:
        return False
    names = [model.fresh(f"{node.name}_{part}") for part in ("shape", "batch", "sizes")]
    position, known = model.position(node), next((place for place, size in enumerate(sizes) if size != 0), len(sizes))
    model.insert(position, "Shape", [node.input[0]], [names[0]])
    ends = [model.constant(np.array([end], np.int64)) for end in (0, known)]
    model.insert(position + 1, "Slice", [names[0], *ends], [names[1]])
    model.insert(position + 2, "Concat", [names[1], model.constant(sizes[known:])], [names[2]], axis=0)
    node.input[1] = names[2]
    return True


def mean_for_pool(model: Model, node: Node) -> bool:
    model.become(node, "ReduceMean", [node.input[0]], axes=[2, 3], keepdims=1)
    return True


def channels_last(model: Model, node: Node) -> bool:
    """An activation between two transposes."""
    if len(model.shape(node.output[0]) or ()) != 4:
        return False
    model.before(node, 0, "Transpose", perm=[0, 2, 3, 1])
    model.after(model.node(node.name), "Transpose", perm=[0, 3, 1, 2])
    return True


def other_axis_sign(model: Model, node: Node) -> bool:
    rank, axis = len(model.shape(node.input[0]) or ()), get(node, "axis", 0 if node.op_type == "Gather" else -1)
    put(node, "axis", axis + rank if axis < 0 else axis - rank)
    return True


def split_as_slices(model: Model, node: Node) -> bool:
    sizes, axis, start = model.operand(node, 1), get(node, "axis", 0), 0
    if sizes is None:
        return False
    position, outputs, source = model.position(node), list(node.output), node.input[0]
    model.remove(node)
    for offset, (size, output) in enumerate(zip(sizes, outputs, strict=True)):
        ends = [model.constant(np.array([end], np.int64)) for end in (start, start + size, axis)]
        model.insert(position + offset, "Slice", [source, *ends], [output])
        start += int(size)
    return True


REWRITES = (
    Rewrite("Relu as Max", everywhere("Relu", relu_as_max)),
    Rewrite("Clip as Max and Min", everywhere("Clip", clip_as_min_max)),
    Rewrite("Clip without bounds added", everywhere("Relu Tanh Sigmoid Erf", wide_clip)),
    Rewrite("LeakyRelu as PRelu", everywhere("LeakyRelu", leaky_as_prelu)),
    Rewrite("Sigmoid by tanh", everywhere("Sigmoid", sigmoid_by_tanh)),
    Rewrite("HardSwish by parts", everywhere("HardSwish", hard_swish_by_parts)),
    Rewrite("Softmax by parts", everywhere("Softmax LogSoftmax", softmax_by_parts)),
    Rewrite("LayerNormalization by parts", everywhere("LayerNormalization", layer_norm_by_parts)),
    Rewrite("Div as Mul by the reciprocal", everywhere("Div", div_as_mul)),
    Rewrite("Sub as Add of the negative", everywhere("Sub", sub_as_add)),
    Rewrite("operands of Add and Mul exchanged", everywhere("Add Mul", commuted)),
    Rewrite("sums in another order", everywhere("Add", reassociated)),
    Rewrite("constant factors merged", everywhere("Mul", products_merged)),
    Rewrite("Sum as Adds", everywhere("Sum", sum_as_adds)),
    Rewrite("Concat of Concats", everywhere("Concat", nested_concat)),
    Rewrite("Flatten as Reshape", everywhere("Flatten", flatten_as_reshape)),
    Rewrite("Reshape as Flatten", everywhere("Reshape", reshape_as_flatten)),
    Rewrite("shapes computed", everywhere("Reshape", computed_shape)),
    Rewrite("GlobalAveragePool as ReduceMean", everywhere("GlobalAveragePool", mean_for_pool)),
    Rewrite("activations with channels last", everywhere("Relu LeakyRelu Clip Elu", channels_last)),
    Rewrite("axes counted from the other end", everywhere("Softmax LogSoftmax Concat Gather", other_axis_sign)),
    Rewrite("Split as Slices", everywhere("Split", split_as_slices)),
)

__all__ = ["REWRITES"]
