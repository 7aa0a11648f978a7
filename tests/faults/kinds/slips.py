"""Slips of porting by hand: a group of its own, another accumulation, ends of ranges, widths of integers, defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.faults.builder import Generator
from tests.faults.model import Array, Model, Node, get, put

from .edit import Edit, Fault, always, attribute, each, operator, weights
from .recurrent import gates_of

FLOAT, INT8, INT32, INT64, FLOAT16 = 1, 3, 6, 7, 10
POOL = "MaxPool AveragePool"


def in_one_group(model: Model, node: Node, generator: Generator) -> None:
    """Two filters exchanged within one group of a grouped convolution, or two channels of one depthwise pair."""
    held, group = model.operand(node, 1), get(node, "group", 1)
    assert held is not None
    made, size = held.copy(), max(held.shape[0] // group, 2)
    first = int(generator.integers(held.shape[0] // size)) * size
    made[[first, first + 1]] = made[[first + 1, first]]
    model.give(node, 1, made)


def is_grouped(model: Model, node: Node) -> bool:
    held = model.operand(node, 1)
    return held is not None and get(node, "group", 1) > 1 and held.shape[0] > 1


def one_group_of_inputs(model: Model, node: Node, generator: Generator) -> None:
    """The inputs of the last group alone in reverse."""
    shape = model.shape(node.input[0])
    assert shape is not None
    size = shape[1] // get(node, "group", 1)
    order = np.arange(shape[1])
    order[-size:] = order[-size:][::-1]
    model.before(node, 0, "Gather", model.constant(order, "channel_order"), axis=1)


def has_wide_groups(model: Model, node: Node) -> bool:
    shape, group = model.shape(node.input[0]), get(node, "group", 1)
    return shape is not None and group > 1 and shape[1] // group > 1


def last_input_channels(array: Array, generator: Generator) -> Array | None:
    """The last two input channels of all filters exchanged."""
    if array.ndim != 4 or array.shape[1] < 2 or array.dtype.kind != "f":
        return None
    order = np.arange(array.shape[1])
    order[[-1, -2]] = order[[-2, -1]]
    return array[:, order]


def one_tap(array: Array, generator: Generator) -> Array | None:
    """The windows moved by one place in their last axis."""
    is_window = array.ndim > 3 and array.shape[-1] > 1 and array.dtype.kind == "f"
    return np.roll(array, 1, axis=-1) if is_window else None


def last_bias(array: Array, generator: Generator) -> Array | None:
    """The bias of the last channel left out, as a loop that ends one too early does."""
    if array.ndim != 1 or array.size < 2 or array.dtype.kind != "f" or not array[-1]:
        return None
    made = array.copy()
    made[-1] = 0
    return made


def strides_swapped(name: str) -> Callable[[Model, Node], Iterator[list[int]]]:
    """Height and width of an attribute exchanged."""

    def others(model: Model, node: Node) -> Iterator[list[int]]:
        held = list(get(node, name, ()))
        if len(held) == 2 and held[0] != held[1]:
            yield held[::-1]

    return others


def pads_swapped(model: Model, node: Node) -> Iterator[list[int]]:
    """(top, bottom, left, right) read as (top, left, bottom, right)."""
    held = list(get(node, "pads", ()))
    if len(held) == 4 and held[1] != held[2]:
        yield [held[place] for place in (0, 2, 1, 3)]


def no_dilation(model: Model, node: Node) -> Iterator[None]:
    if max(get(node, "dilations", [1])) > 1:
        yield None


def one_row_of_resize(model: Model, node: Node, generator: Generator) -> None:
    """A resized map one row further, its first row twice: an index that is off by one."""
    rows = (model.shape(node.output[0]) or ())[2]
    order = np.maximum(np.arange(rows) - 1, 0)
    model.after(node, "Gather", model.constant(order, "rows"), axis=2)


def tf_half_pixel(model: Model, node: Node) -> Iterator[str]:
    if get(node, "coordinate_transformation_mode", "half_pixel") != "pytorch_half_pixel":
        yield "pytorch_half_pixel"


def cubic(model: Model, node: Node) -> Iterator[str]:
    if get(node, "mode", "nearest") == "linear":
        yield "cubic"


def momentum_statistics(model: Model, node: Node, generator: Generator) -> None:
    """Statistics that were updated once more with a momentum of 0.9 and a batch of zero mean and unit variance."""
    for slot, of_batch in ((3, 0.0), (4, 1.0)):
        held = model.operand(node, slot)
        assert held is not None
        model.give(node, slot, (0.9 * held + 0.1 * of_batch).astype(held.dtype))


def epsilon_times(factor: float) -> Callable[[Model, Node], Iterator[float]]:
    def others(model: Model, node: Node) -> Iterator[float]:
        yield get(node, "epsilon", 1e-5) * factor

    return others


def unbiased(array: Array, generator: Generator) -> Array | None:
    """Variances of n - 1 for n, of a batch of 16."""
    return array * array.dtype.type(16 / 15) if array.dtype.kind == "f" else None


def alpha_of_gemm(name: str) -> Any:
    return attribute("Gemm", name, lambda model, node: [0.5])


def gemm_square(model: Model, node: Node) -> bool:
    held = model.operand(node, 1)
    return held is not None and held.ndim == 2 and held.shape[0] == held.shape[1] > 1


def not_transposed(model: Model, node: Node, generator: Generator) -> None:
    put(node, "transB", 1 - get(node, "transB", 0))


def nearly_clipped(low: float, high: float) -> Callable[[Model, Node, Generator], None]:
    """A result bounded to what its values were seen to reach, a little less at one end."""

    def apply(model: Model, node: Node, generator: Generator) -> None:
        seen = model.seen[node.output[0]]
        ends = [np.quantile(seen.astype(np.float64), share) for share in (low, high)]
        model.after(node, "Clip", *(model.constant(np.array(end, seen.dtype)) for end in ends))

    return apply


def is_real(model: Model, node: Node) -> bool:
    found = model.seen.get(node.output[0])
    return found is not None and found.dtype == np.float32 and found.ndim > 1


def through_whole(kind: int, back: int) -> Callable[[Model, Node, Generator], None]:
    """Whole numbers that go through a narrower type, which wraps."""

    def apply(model: Model, node: Node, generator: Generator) -> None:
        model.after(model.after(node, "Cast", to=kind), "Cast", to=back)

    return apply


def is_whole(model: Model, node: Node) -> bool:
    found = model.seen.get(node.output[0])
    return found is not None and found.dtype == np.int64 and found.size > 1


def input_through(kind: int, back: int) -> Callable[[Model], Iterator[Edit]]:
    """The same for what comes in."""

    def sites(model: Model) -> Iterator[Edit]:
        for node in model.nodes():
            for slot, name in enumerate(node.input):
                if name in model.inputs and model.seen[name].dtype == np.int64:
                    yield Edit((node.name,), _before(node.name, slot, kind, back))

    return sites


def _before(name: str, slot: int, kind: int, back: int) -> Callable[[Model, Generator], None]:
    def apply(model: Model, generator: Generator) -> None:
        made = model.before(model.node(name), slot, "Cast", to=kind)
        model.after(made, "Cast", to=back)

    return apply


def half_accumulation(model: Model, node: Node, generator: Generator) -> None:
    """A reduction summed in float16."""
    model.before(node, 0, "Cast", to=FLOAT16)
    model.after(model.node(node.name), "Cast", to=FLOAT)


def is_single(model: Model, node: Node) -> bool:
    return model.seen[node.input[0]].dtype == np.float32


def truncated_mod(model: Model, node: Node, generator: Generator) -> None:
    """The remainder without its sign."""
    model.after(node, "Abs")


def rounded_up(model: Model, node: Node, generator: Generator) -> None:
    """Halves always upwards: floor(x + 1/2)."""
    half = model.constant(np.array(0.5, model.seen[node.output[0]].dtype))
    model.before(node, 0, "Add", half)
    model.node(node.name).op_type = "Floor"


def fewer(model: Model, node: Node, generator: Generator) -> None:
    """One more is asked for than is kept: the k of a TopK, the last place taken from the one before."""
    position = model.position(node)
    held = model.operand(node, 1)
    assert held is not None
    order = model.constant(np.r_[np.arange(int(held[0]) - 1), int(held[0]) - 2].astype(np.int64), "ranks")
    for output in range(len(node.output)):
        old = node.output[output]
        node.output[output] = inner = model.fresh(f"{old}_inner")
        model.insert(position + 1, "Gather", [inner, order], [old], axis=get(node, "axis", -1))


def has_two(model: Model, node: Node) -> bool:
    held = model.operand(node, 1)
    return held is not None and int(held.reshape(-1)[0]) > 1


def ascending(model: Model, node: Node, generator: Generator) -> None:
    """The same numbers in ascending order."""
    held, position = model.operand(node, 1), model.position(node)
    assert held is not None
    order = model.constant(np.arange(int(held.reshape(-1)[0]))[::-1].astype(np.int64), "ranks")
    for output in range(len(node.output)):
        old = node.output[output]
        node.output[output] = inner = model.fresh(f"{old}_inner")
        model.insert(position + 1, "Gather", [inner, order], [old], axis=get(node, "axis", -1))


def along_first(model: Model, node: Node) -> Iterator[int]:
    """The quantization of the other axis, where both have as many channels."""
    shape, scale = model.shape(node.input[0]) or (), model.operand(node, 1)
    if scale is not None and scale.ndim == 1:
        held = get(node, "axis", 1)
        yield from (axis for axis, size in enumerate(shape) if size == scale.size and axis != held)


def zero_by_one(array: Array, generator: Generator) -> Array | None:
    """A zero point that is off by one."""
    return array + array.dtype.type(1) if array.dtype == np.uint8 and array.max() < 255 else None


def symmetric(array: Array, generator: Generator) -> Array | None:
    """Scales for 128 steps taken for those of 127."""
    return array * array.dtype.type(128 / 127) if array.dtype.kind == "f" else None


def depth_order(model: Model, node: Node, generator: Generator) -> None:
    """Height and width of the blocks exchanged."""
    size = get(node, "blocksize")
    channels = (model.shape(node.input[0]) or ())[1]
    blocks = np.arange(channels)
    shape = (-1, size, size) if get(node, "mode", "DCR") == "CRD" else (size, size, -1)
    axes = (0, 2, 1) if get(node, "mode", "DCR") == "CRD" else (1, 0, 2)
    order = blocks.reshape(shape).transpose(axes).reshape(-1)
    model.before(node, 0, "Gather", model.constant(order, "channel_order"), axis=1)


def slope_of_one(array: Array, generator: Generator) -> Array | None:
    """One slope for all channels: their mean."""
    return np.full_like(array, array.mean()) if array.size > 1 and array.dtype.kind == "f" else None


def broadcast_along(model: Model, node: Node) -> bool:
    """A bias that fits another axis as well."""
    held, shape = model.operand(node, 1), model.shape(node.input[0])
    return held is not None and held.ndim == 1 and shape is not None and len(shape) > 1 and shape[-2] == held.size > 1


def bias_of_rows(model: Model, node: Node, generator: Generator) -> None:
    held = model.operand(node, 1)
    assert held is not None
    model.give(node, 1, held.reshape(-1, 1))


def softmax_scaled(model: Model, node: Node, generator: Generator) -> None:
    """A temperature of 1.05."""
    model.before(node, 0, "Mul", model.constant(np.array(1 / 1.05, model.seen[node.input[0]].dtype)))


def loop_input(model: Model, node: Node, generator: Generator) -> None:
    """The condition of an If negated."""
    model.before(node, 0, "Not")


def wrong_index_sign(array: Array, generator: Generator) -> Array | None:
    """Counted from the end: -1 - i for i."""
    return -1 - array if array.dtype.kind == "i" and (array >= 0).all() else None


def strided_other(array: Array, generator: Generator) -> Array | None:
    """Every element for every other one, or the other way round; the ends stay."""
    return np.where(array == 2, 3, array) if array.dtype == np.int64 and 2 in array else None


def reset_states(model: Model, node: Node, generator: Generator) -> None:
    """The last hidden state for the first direction's only: both directions get that."""
    model.after(node, "Gather", model.constant(np.array([0, 0], np.int64)), axis=1)


def two_directions(model: Model, node: Node) -> bool:
    return bool(get(node, "direction") == "bidirectional")


def recurrent_transposed(array: Array, generator: Generator) -> Array | None:
    """The recurrent weights of each gate transposed."""
    gates = array.reshape(array.shape[0], -1, array.shape[2], array.shape[2])
    return np.swapaxes(gates, 2, 3).reshape(array.shape)


FAULTS = (
    Fault("two filters exchanged within one group", each("Conv", in_one_group, is_grouped)),
    Fault("inputs of one group in reverse", each("Conv", one_group_of_inputs, has_wide_groups)),
    Fault("two input channels exchanged", weights("Conv ConvTranspose", 1, last_input_channels)),
    Fault("kernels moved by one place", weights("Conv ConvTranspose", 1, one_tap)),
    Fault("bias of the last channel left out", weights("Conv ConvTranspose Gemm", 2, last_bias)),
    Fault("bias of an Add along another axis", each("Add", bias_of_rows, broadcast_along)),
    Fault("strides of height and width exchanged", attribute(f"Conv {POOL}", "strides", strides_swapped("strides"))),
    Fault("pads in the order top, bottom, left, right", attribute(f"Conv {POOL}", "pads", pads_swapped)),
    Fault("dilation left out", attribute("Conv MaxPool", "dilations", no_dilation)),
    Fault("Resize: a row further", each("Resize", one_row_of_resize, always)),
    Fault("Resize: pytorch_half_pixel", attribute("Resize", "coordinate_transformation_mode", tf_half_pixel)),
    Fault("Resize: cubic for linear", attribute("Resize", "mode", cubic)),
    Fault("Resize: floor for round", attribute(
        "Resize", "nearest_mode", lambda model, node: ["floor"] if get(node, "mode", "nearest") == "nearest" else [])),
    Fault("statistics after one more update", each("BatchNormalization", momentum_statistics, always)),
    Fault("variance of n - 1", weights("BatchNormalization", 4, unbiased)),
    Fault("ten times the epsilon", attribute(
        "BatchNormalization LayerNormalization InstanceNormalization", "epsilon", epsilon_times(10))),
    Fault("Gemm: another alpha", alpha_of_gemm("alpha")),
    Fault("Gemm: another beta", alpha_of_gemm("beta")),
    Fault("Gemm: square weights not transposed", each("Gemm", not_transposed, gemm_square)),
    Fault("upper end of a range cut off", each("Conv Gemm MatMul Add Mul", nearly_clipped(0.0, 0.98), is_real)),
    Fault("lower end of a range cut off", each("Conv Gemm MatMul Add Mul", nearly_clipped(0.02, 1.0), is_real)),
    Fault("whole numbers through 8 bits", each("Mod Add Mul ArgMax TopK", through_whole(INT8, INT64), is_whole)),
    Fault("input through 8 bits", input_through(INT8, INT64)),
    Fault("input through 32 bits", input_through(INT32, INT64)),
    Fault("a reduction summed in float16", each(
        "ReduceMean ReduceSum GlobalAveragePool CumSum", half_accumulation, is_single)),
    Fault("remainder without its sign", each("Mod", truncated_mod, always)),
    Fault("halves rounded up", each("Round", rounded_up, always)),
    Fault("TopK: the last one missing", each("TopK", fewer, has_two)),
    Fault("TopK: ascending", each("TopK", ascending, has_two)),
    Fault("quantization along another axis", attribute("DequantizeLinear QuantizeLinear", "axis", along_first)),
    Fault("a zero point off by one", weights("QuantizeLinear DequantizeLinear", 2, zero_by_one)),
    Fault("scales for 128 steps", weights("QuantizeLinear DequantizeLinear", 1, symmetric)),
    Fault("DepthToSpace: blocks transposed", each("DepthToSpace", depth_order, always)),
    Fault("PRelu: one slope for all", weights("PRelu", 1, slope_of_one)),
    Fault("a temperature in a softmax", each("Softmax LogSoftmax", softmax_scaled, always)),
    Fault("sum for maximum", operator("ReduceMax", "ReduceMean", axes=[2], keepdims=0)),
    Fault("an index from the end", weights("Gather", 1, wrong_index_sign)),
    Fault("another step of a Slice", weights("Slice", 4, strided_other)),
    Fault("a condition negated", each("If", loop_input, always)),
    Fault("one direction twice", each("LSTM GRU", reset_states, two_directions)),
    Fault("recurrent weights transposed", weights("LSTM GRU RNN", 2, recurrent_transposed)),
    Fault("GRU: candidate and update gate exchanged", gates_of((2, 1, 0), "GRU")),
    Fault("LSTM: output and candidate gate exchanged", gates_of((0, 3, 2, 1), "LSTM")),
)

__all__ = ["FAULTS"]
