"""Rewrites of layers with weights: what is folded, split, scaled or turned and computes the same."""

from __future__ import annotations

import numpy as np

from tests.faults.builder import Generator
from tests.faults.model import Array, Model, Node, get, put

from .rewrite import Rewrite, everywhere, replaced


def held(model: Model, node: Node, slot: int) -> Array:
    """An operand that has to be a weight."""
    found = model.operand(node, slot)
    assert found is not None
    return found


def affine(model: Model, node: Node) -> tuple[Array, Array]:
    """Factor and addend of a BatchNormalization."""
    gamma, beta, mean, variance = (held(model, node, slot).astype(np.float64) for slot in (1, 2, 3, 4))
    factor = gamma / np.sqrt(variance + get(node, "epsilon", 1e-5))
    return factor, beta - mean * factor


def fold_norm(model: Model, node: Node) -> bool:
    """BatchNormalization folded into the convolution in front."""
    conv = model.producer(node.input[0])
    if conv is None or conv.op_type != "Conv" or model.sole_user(conv.output[0]) is None:
        return False
    weight = held(model, conv, 1)
    factor, addend = affine(model, node)
    bias = held(model, conv, 2) * factor + addend if len(conv.input) > 2 else addend
    folded = model.constant((weight * factor.reshape(-1, 1, 1, 1)).astype(weight.dtype), f"{conv.name}_folded")
    operands = [conv.input[0], folded, model.constant(bias.astype(weight.dtype), f"{conv.name}_shift")]
    del conv.input[:]
    conv.input.extend(operands)
    conv.output[0] = node.output[0]
    model.remove(node)
    return True


def norm_as_scale(model: Model, node: Node) -> bool:
    """BatchNormalization as a product and a sum."""
    factor, addend = affine(model, node)
    shape = model.shape(node.input[0]) or ()
    dtype = held(model, node, 1).dtype
    names = [
        model.constant(part.reshape(-1, *[1] * (len(shape) - 2)).astype(dtype), "affine") for part in (factor, addend)
    ]
    inner = model.fresh(f"{node.name}_scaled")
    return replaced(model, node, [
        ("Mul", [node.input[0], names[0]], inner, {}), ("Add", [inner, names[1]], node.output[0], {}),
    ])  # fmt: skip


def split_bias(model: Model, node: Node) -> bool:
    """The bias of a convolution in an Add behind it."""
    bias = model.operand(node, 2)
    if bias is None:
        return False
    del node.input[2]
    model.after(node, "Add", model.constant(bias.reshape(-1, 1, 1), f"{node.name}_shift"))
    return True


def gemm_by_parts(model: Model, node: Node) -> bool:
    """Gemm as MatMul and Add."""
    weight = model.operand(node, 1)
    if weight is None:
        return False
    inner = model.fresh(f"{node.name}_product")
    right = model.constant(weight.T if get(node, "transB", 0) else weight, f"{node.name}_right")
    return replaced(model, node, [
        ("MatMul", [node.input[0], right], inner, {}), ("Add", [inner, node.input[2]], node.output[0], {}),
    ])  # fmt: skip


def join_gemm(model: Model, node: Node) -> bool:
    """MatMul and Add of matrices as one Gemm."""
    add = model.sole_user(node.output[0])
    if len(model.shape(node.input[0]) or ()) != 2 or add is None or add.op_type != "Add":
        return False
    if model.operand(node, 1) is None or model.operand(add, 1) is None:
        return False
    model.become(add, "Gemm", [node.input[0], node.input[1], add.input[1]])
    model.remove(node)
    return True


def equalized(model: Model, node: Node) -> bool:
    """Channels of a convolution scaled, and scaled back behind its Relu by the next one (Nagel et al. 2019)."""
    relu = model.sole_user(node.output[0])
    after = None if relu is None or relu.op_type != "Relu" else model.sole_user(relu.output[0])
    if after is None or after.op_type != "Conv" or get(after, "group", 1) != 1 or get(node, "group", 1) != 1:
        return False
    first, second = held(model, node, 1), held(model, after, 1)
    factors = (1.3 + 0.1 * np.arange(first.shape[0])).astype(first.dtype)
    model.give(node, 1, first * factors.reshape(-1, 1, 1, 1))
    if len(node.input) > 2:
        model.give(node, 2, held(model, node, 2) * factors)
    model.give(after, 1, second / factors.reshape(1, -1, 1, 1))
    return True


def permuted(model: Model, node: Node) -> bool:
    """The hidden units between two dense layers in another order."""
    active = model.sole_user(node.output[0])
    after = None if active is None or active.op_type not in ("Relu", "Tanh", "Elu") else model.sole_user(
        active.output[0],
    )
    if after is None or after.op_type != "Gemm" or not get(node, "transB") or not get(after, "transB"):
        return False
    first, second = held(model, node, 1), held(model, after, 1)
    model.give(node, 1, first[::-1])
    model.give(node, 2, held(model, node, 2)[::-1])
    model.give(after, 1, second[:, ::-1])
    return True


def explicit_pad(model: Model, node: Node) -> bool:
    """The pads of a convolution in a Pad in front of it."""
    pads = list(get(node, "pads", ()))
    if not pads or not max(pads):
        return False
    half = len(pads) // 2
    sizes = np.array([0, 0, *pads[:half], 0, 0, *pads[half:]], np.int64)
    model.before(node, 0, "Pad", model.constant(sizes, "border"))
    put(node, "pads", [0] * len(pads))
    return True


def explicit_same(model: Model, node: Node) -> bool:
    """SAME as the numbers that it means for the only size that the model takes."""
    if get(node, "auto_pad") != "SAME_UPPER":
        return False
    sizes, kernel = model.shape(node.input[0]) or (), get(node, "kernel_shape")
    strides = get(node, "strides", [1] * len(kernel))
    total = [max((-(-size // step) - 1) * step + window - size, 0)
             for size, step, window in zip(sizes[2:], strides, kernel, strict=True)]  # fmt: skip
    put(node, "auto_pad", None)
    put(node, "pads", [*(number // 2 for number in total), *(number - number // 2 for number in total)])
    return True


def pointwise_as_product(model: Model, node: Node) -> bool:
    """A convolution of 1x1 as a product over the last axis between two transposes."""
    weight = model.operand(node, 1)
    if weight is None or weight.shape[2:] != (1, 1) or get(node, "group", 1) != 1 or len(node.input) < 3:
        return False
    names = [model.fresh(f"{node.name}_{part}") for part in ("last", "product", "sum")]
    return replaced(model, node, [
        ("Transpose", [node.input[0]], names[0], {"perm": [0, 2, 3, 1]}),
        ("MatMul", [names[0], model.constant(weight[:, :, 0, 0].T, "pointwise")], names[1], {}),
        ("Add", [names[1], node.input[2]], names[2], {}),
        ("Transpose", [names[2]], node.output[0], {"perm": [0, 3, 1, 2]}),
    ])  # fmt: skip


def scale_in_query(model: Model, node: Node) -> bool:
    """The scale of attention folded into the weights of the query."""
    if not node.name.startswith("att") or not node.name.endswith("_scaled"):
        return False
    rows = model.node(node.name.replace("_scaled", "_query_rows"))
    add = model.producer(rows.input[0])
    product = None if add is None else model.producer(add.input[0])
    assert add is not None
    assert product is not None
    factor = held(model, node, 1)
    model.give(product, 1, held(model, product, 1) * factor)
    model.give(add, 1, held(model, add, 1) * factor)
    model.bypass(node)
    return True


def two_directions(model: Model, node: Node) -> bool:
    """A bidirectional LSTM as two, one of them in reverse."""
    if get(node, "direction") != "bidirectional" or any(model.users(name) for name in node.output[1:]):
        return False
    size, position, parts = get(node, "hidden_size"), model.position(node), []
    operands, target = list(node.input), node.output[0]
    weights = [held(model, node, slot) for slot in (1, 2, 3)]
    model.remove(node)
    offset = position
    for place, direction in enumerate(("forward", "reverse")):
        own = [model.constant(weight[place : place + 1], f"direction_{direction}") for weight in weights]
        states = []
        for slot in (5, 6):
            states.append(model.fresh("state"))
            ends = [model.constant(np.array([number], np.int64)) for number in (place, place + 1, 0)]
            model.insert(offset, "Slice", [operands[slot], *ends], [states[-1]])
            offset += 1
        parts.append(model.fresh(direction))
        inputs = [operands[0], *own, operands[4], *states]
        model.insert(offset, "LSTM", inputs, [parts[-1]], hidden_size=size, direction=direction)
        offset += 1
    model.insert(offset, "Concat", parts, [target], axis=1)
    return True


def turned_gru(model: Model, node: Node) -> bool:
    """A GRU in reverse as one forwards between two reversals of time."""
    if get(node, "direction", "forward") != "reverse" or model.users(node.output[1]):
        return False
    put(node, "direction", "forward")
    ends = [model.constant(np.array([number], np.int64)) for number in (-1, -(1 << 40), 0, -1)]
    model.before(node, 0, "Slice", *ends)
    model.after(model.node(node.name), "Slice", *ends)
    return True


def stored_single(model: Model, generator: Generator) -> bool:
    """Weights of float16 stored as float32 behind a Cast."""
    return _stored(model, np.dtype(np.float16), np.dtype(np.float32), 10)


def _stored(model: Model, old: np.dtype[np.float16], new: np.dtype[np.float32], kind: int) -> bool:
    found = [name for name, array in model.weights().items() if array.dtype == old and array.ndim > 1]
    for name in found:
        array = model.weight(name)
        assert array is not None
        wide, cast = model.constant(array.astype(new), f"{name}_wide"), model.fresh(f"{name}_cast")
        for node, slot in model.users(name):
            node.input[slot] = cast
        model.insert(0, "Cast", [wide], [cast], to=kind)
    return bool(found)


REWRITES = (
    Rewrite("BatchNormalization folded into Conv", everywhere("BatchNormalization", fold_norm)),
    Rewrite("BatchNormalization as Mul and Add", everywhere("BatchNormalization", norm_as_scale)),
    Rewrite("bias of Conv as Add", everywhere("Conv", split_bias)),
    Rewrite("Gemm as MatMul and Add", everywhere("Gemm", gemm_by_parts)),
    Rewrite("MatMul and Add as Gemm", everywhere("MatMul", join_gemm)),
    Rewrite("channels scaled and scaled back", everywhere("Conv", equalized)),
    Rewrite("hidden units in another order", everywhere("Gemm", permuted)),
    Rewrite("pads of Conv as Pad", everywhere("Conv", explicit_pad)),
    Rewrite("SAME as numbers", everywhere("Conv MaxPool AveragePool", explicit_same)),
    Rewrite("Conv of 1x1 as MatMul", everywhere("Conv", pointwise_as_product)),
    Rewrite("attention's scale in the query", everywhere("Mul", scale_in_query)),
    Rewrite("bidirectional LSTM as two", everywhere("LSTM", two_directions)),
    Rewrite("reverse GRU as forward", everywhere("GRU", turned_gru)),
    Rewrite("float16 weights stored as float32", stored_single),
)

__all__ = ["REWRITES"]
