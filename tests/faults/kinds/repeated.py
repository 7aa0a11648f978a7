"""Steps that come twice, too early or for another part of the data; borders, tables and masks one place off."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import onnx

from tests.faults.builder import Generator
from tests.faults.model import Array, Model, Node, get, put

from .edit import Edit, Fault, always, each, operator, weights
from .special import halves_and_adds

ACTIVATIONS = ("Relu", "Clip", "Elu", "LeakyRelu", "Tanh", "Sigmoid")
PIXELS = 255.0


def doubled(array: Array, generator: Generator) -> Array | None:
    """A bias that is in the weights already and added again."""
    return array * 2 if array.dtype.kind == "f" and array.ndim == 1 and array.any() else None


def first_activation(model: Model) -> Iterator[Edit]:
    """The activation behind a sum applied to its first operand alone."""
    for node in model.nodes("Add"):
        after = model.sole_user(node.output[0])
        if after is not None and after.op_type in ACTIVATIONS and model.operand(node, 1) is None:
            yield Edit((node.name, after.name), _exchanged(node.name, after.name))


def first_normalization(model: Model) -> Iterator[Edit]:
    """The normalization of a sum applied to its second operand alone, and the sum made behind it."""
    for node in model.nodes("Add"):
        after = model.sole_user(node.output[0])
        if after is not None and after.op_type == "LayerNormalization":
            yield Edit((node.name, after.name), _exchanged(node.name, after.name, 1))


def _exchanged(total: str, later: str, slot: int = 0) -> Callable[[Model, Generator], None]:
    def apply(model: Model, generator: Generator) -> None:
        held, after = model.node(total), model.node(later)
        made = model.before(held, slot, after.op_type, *after.input[1:])
        made.attribute.extend(after.attribute)
        model.bypass(model.node(later))

    return apply


def again(model: Model, node: Node, generator: Generator) -> None:
    """The node once more on its own result, with its weights."""
    made = model.after(node, node.op_type, *node.input[1:])
    made.attribute.extend(node.attribute)


def keeps_shape(model: Model, node: Node) -> bool:
    return model.shape(node.input[0]) == model.shape(node.output[0]) and len(node.output) == 1


def times_root(array: Array, generator: Generator) -> Array | None:
    """A table that is scaled by the root of its width, as the original transformer does (Vaswani et al. 2017)."""
    return array * array.dtype.type(array.shape[1] ** 0.5) if array.ndim == 2 and array.dtype.kind == "f" else None


def heads_reversed(model: Model, node: Node, generator: Generator) -> None:
    heads = (model.shape(node.output[0]) or ())[1]
    model.after(node, "Gather", model.constant(np.arange(heads)[::-1].astype(np.int64), "heads"), axis=1)


def are_heads(model: Model, node: Node) -> bool:
    return node.name.endswith("_mixed")


def pads_of(node: Node) -> list[int]:
    return list(get(node, "pads", ()))


def is_padded_map(model: Model, node: Node) -> bool:
    return len(pads_of(node)) == 4 and max(pads_of(node)) > 0 and not get(node, "ceil_mode", 0)


def padded_before(mode: str) -> Callable[[Model, Node, Generator], None]:
    """The window's own padding done before it by a Pad: of the border's pixels, or of zeros."""

    def apply(model: Model, node: Node, generator: Generator) -> None:
        top, left, bottom, right = pads_of(node)
        border = model.constant(np.array([0, 0, top, left, 0, 0, bottom, right], np.int64), "border")
        model.before(node, 0, "Pad", border, mode=mode)
        put(model.node(node.name), "pads", [0, 0, 0, 0])

    return apply


def whole(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def batch_reversed(model: Model, node: Node, generator: Generator) -> None:
    ends = whole(-1), whole(np.iinfo(np.int64).min), whole(0), whole(-1)
    model.after(node, "Slice", *(model.constant(end, "turned") for end in ends))


def is_batched(model: Model, node: Node) -> bool:
    """Whether the first axis is the batch, which is drawn as 2, and what is made of it is not looked up by place."""
    shape = model.shape(node.output[0]) or ()
    first = model.graph.input[0].type.tensor_type.shape.dim
    return len(shape) > 1 and shape[0] == 2 and bool(first) and first[0].dim_param == "N"


def one_pixel(model: Model, node: Node, generator: Generator) -> None:
    """A map moved by one pixel along its width, the last column first."""
    width = (model.shape(node.output[0]) or ())[3]
    model.after(node, "Gather", model.constant(np.roll(np.arange(width), 1).astype(np.int64), "columns"), axis=3)


def is_map(model: Model, node: Node) -> bool:
    """Whether a result is a map whose width is known and more than one."""
    shape = model.shape(node.output[0]) or ()
    sizes = [dim for item in model.graph.input for dim in item.type.tensor_type.shape.dim[1:]]
    return len(shape) == 4 and shape[3] > 1 and all(dim.HasField("dim_value") for dim in sizes)


def plain_softmax(model: Model, node: Node, generator: Generator) -> None:
    """exp(x) / sum(exp(x)) without the maximum taken off, which overflows from 89 on."""
    axis, position = get(node, "axis", -1), model.position(node)
    powers, total = model.fresh(f"{node.name}_exp"), model.fresh(f"{node.name}_sum")
    model.insert(position, "Exp", [node.input[0]], [powers])
    model.insert(position + 1, "ReduceSum", [powers, model.constant(whole(axis), "axis")], [total], keepdims=1)
    model.become(model.node(node.name), "Div", [powers, total])


def pixels(model: Model) -> Iterator[Edit]:
    """What comes in divided by 255 once more."""
    for node in model.nodes():
        for slot, name in enumerate(node.input):
            if name in model.inputs and model.seen[name].dtype == np.float32 and model.seen[name].ndim == 4:
                yield Edit((node.name,), _divided(node.name, slot))


def _divided(name: str, slot: int) -> Callable[[Model, Generator], None]:
    def apply(model: Model, generator: Generator) -> None:
        model.before(model.node(name), slot, "Div", model.constant(np.float32(PIXELS), "pixels"))

    return apply


def in_eight_bits(array: Array, generator: Generator) -> Array | None:
    """Weights rounded to 127 steps of the largest of them."""
    if array.dtype.kind != "f" or array.ndim < 2:
        return None
    step = np.abs(array).max() / 127
    return (np.round(array / step) * step).astype(array.dtype)


def one_further(array: Array, generator: Generator) -> Array | None:
    """A table of places read one row further."""
    return np.roll(array, -1, axis=0) if array.ndim == 2 and array.dtype.kind == "f" else None


def frozen_turn(model: Model, node: Node, generator: Generator) -> None:
    """A loop that gives back what it started with in its last turn: the state is read before it is written."""
    body: onnx.GraphProto = next(item.g for item in node.attribute if item.name == "body")
    by_kind = {inner.op_type: inner for inner in body.node}
    by_kind["Add"].input[0] = body.input[2].name


PRODUCTS = "Conv ConvTranspose Gemm MatMul"
FAULTS = (
    Fault("bias counted twice", weights("Conv ConvTranspose Gemm", 2, doubled)),
    Fault("a causal mask off by one", operator("LessOrEqual", "Less")),
    Fault("a causal mask the other way", operator("LessOrEqual", "GreaterOrEqual")),
    Fault("an activation before the sum", first_activation),
    Fault("normalization of one branch of a sum", first_normalization),
    Fault("a layer applied twice", each("Conv MatMul Gemm", again, keeps_shape)),
    Fault("normalized twice", each("BatchNormalization LayerNormalization InstanceNormalization", again, always)),
    Fault("Softmax twice", each("Softmax LogSoftmax Sigmoid", again, always)),
    Fault("a softmax without its maximum", each("Softmax", plain_softmax, always)),
    Fault("a table scaled by the root of its width", weights("Gather", 0, times_root)),
    Fault("a table of places one further", weights("Slice", 0, one_further)),
    Fault("heads in reverse", each("MatMul", heads_reversed, are_heads)),
    Fault("borders repeated, not zero", each("Conv", padded_before("edge"), is_padded_map)),
    Fault("zeros at the border of a maximum", each("MaxPool", padded_before("constant"), is_padded_map)),
    Fault("a batch in reverse", each("Conv Relu Gemm MatMul Add", batch_reversed, is_batched)),
    Fault("a map moved by one pixel", each("Conv Relu", one_pixel, is_map)),
    Fault("input divided by 255 again", pixels),
    Fault("weights rounded to 8 bits", weights(PRODUCTS, 1, in_eight_bits)),
    Fault("TopK: unsorted", each("TopK", lambda model, node, generator: put(node, "sorted", 0), always)),
    Fault("a Loop that reads its state too early", each("Loop", frozen_turn, halves_and_adds)),
)

__all__ = ["FAULTS"]
