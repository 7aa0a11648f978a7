"""Version 3's operations that move, repeat, part and choose elements, as operators that the importer knows: a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from string import ascii_lowercase
from typing import Any

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.tensorflow.files.records import Endpoint
from graphir.converters.tensorflow.importing.context import Imported, ImportNode
from graphir.converters.tensorflow.keras.arguments import (
    align_operands,
    argument,
    first_argument,
    flatten,
    several_arguments,
    stated_axes,
    stated_axis,
    tensor_argument,
    whole_numbers,
)
from graphir.converters.tensorflow.keras.context import LayerCall
from graphir.ops.creation import ConstantOfShape
from graphir.ops.extent import Tile
from graphir.ops.linear import Einsum
from graphir.ops.shape import Shape, Transpose
from graphir.ops.shape_parts import Trilu
from graphir.types import DType

Build = Callable[[LayerCall], Any]


def flip(layer: LayerCall) -> Endpoint:
    """Reverse axes, all if none is stated."""
    data, axes = tensor_argument(layer), stated_axes(layer)
    if axes is None:
        raise Refusal("turning all axes round, that of the samples too; state an axis")
    return layer.add("ReverseV2", "value", [data, layer.constant("axes", axes)])


def _make_axis_move(*names: str, swapped: bool) -> Build:
    """Return the operation that reorders axes: some are swapped with others, or moved to the positions of others."""

    def moved(layer: LayerCall) -> Endpoint:
        sources, targets = (stated_axes(layer, name) or [] for name in names)
        if len(sources) != len(targets):
            raise Refusal(f"{len(sources)} axes for {len(targets)} places")

        def import_moved(node: ImportNode) -> Imported:
            rank = node.rank(node.input(0))
            pairs = [(node.axis(to, rank), node.axis(axis, rank)) for to, axis in zip(targets, sources, strict=True)]
            order = [axis for axis in range(rank) if swapped or axis not in {source for _, source in pairs}]
            for target, source in sorted(pairs):
                if swapped:
                    order[target], order[source] = source, target
                else:
                    order.insert(target, source)
            return node.emit(Transpose(tuple(order)), node.input(0))

        return layer.apply(import_moved, "value", [tensor_argument(layer)])

    return moved


def tile(layer: LayerCall) -> Endpoint:
    """Repeat the whole value; fewer axes than it has are its last ones."""
    repeats = stated_axes(layer, "repeats") or []

    def import_tile(node: ImportNode) -> Imported:
        rank = node.rank(node.input(0))
        if len(repeats) > rank:
            node.refuse(f"{len(repeats)} numbers of repeats of a value with {rank} axes")
        return node.emit(Tile(), node.input(0), node.vector([1] * (rank - len(repeats)) + repeats))

    return layer.apply(import_tile, "value", [tensor_argument(layer)])


def repeat(layer: LayerCall) -> Endpoint:
    """Return each element along an axis so many times."""
    count, axis = layer.kwargs["repeats"], stated_axes(layer)
    if not isinstance(count, int) or axis is None:
        raise Refusal("repeats by a list of numbers, or of all elements; one number and an axis are read")
    data = tensor_argument(layer)
    shape = layer.add("Shape", "sizes", [data], out_type=DType.INT32)
    size = layer.add("GatherV2", "size", [shape, layer.constant("place", axis[0]), layer.constant("first_axis", 0)])
    total = layer.add("Mul", "total", [size, layer.constant("count", count)])
    indices = layer.add("Range", "places", [layer.constant("zero", 0), total, layer.constant("one", 1)])
    owners = layer.add("FloorDiv", "owners", [indices, layer.constant("repeats", count)])
    return layer.add("GatherV2", "value", [data, owners, layer.constant("axis", axis[0])], batch_dims=0)


def roll(layer: LayerCall) -> Endpoint:
    """Move elements along axes; what leaves one end comes in at the other."""
    shift, axes = stated_axes(layer, "shift"), stated_axes(layer)
    if axes is None or shift is None:
        raise Refusal("a roll of all elements; state an axis")
    operands = [layer.constant("shift", shift), layer.constant("axes", axes)]
    return layer.add("Roll", "value", [tensor_argument(layer), *operands])


def pad(layer: LayerCall) -> Endpoint:
    """Return a border of a number, or of what the value mirrors."""
    mode, number = layer.kwargs.get("mode", "constant"), argument(layer, 1, "constant_values")
    rows = [[side, side] if isinstance(side, int) else side for side in layer.kwargs["pad_width"]]
    pads = layer.constant("pads", rows)
    if mode in ("reflect", "symmetric"):
        return layer.add("MirrorPad", "value", [tensor_argument(layer), pads], mode=mode.upper())
    if mode != "constant" or not isinstance(number, int | float | None):
        raise Refusal(f"a border by {mode!r} of {str(number)[:40]}")
    data = tensor_argument(layer)
    border = layer.apply(lambda node: node.scalar_like(node.input(0), number or 0), "border", [data])
    return layer.add("PadV2", "value", [data, pads, border])


def _make_split(usual: int = 0) -> Callable[[LayerCall], list[Endpoint]]:
    """Return the operation that splits a value along an axis: into equal parts, or between indices."""

    def split(layer: LayerCall) -> list[Endpoint]:
        stated, axis = layer.kwargs["indices_or_sections"], layer.constant("axis", stated_axis(layer, usual))
        data = tensor_argument(layer)
        if isinstance(stated, int):
            parts, count = layer.add("Split", "value", [axis, data], num_split=stated), stated
        else:
            ends = [0, *whole_numbers(stated, "its indices")]
            sizes = [after - before for before, after in pairwise(ends)]
            lengths, count = layer.constant("sizes", [*sizes, -1]), len(ends)
            parts = layer.add("SplitV", "value", [data, lengths, axis], num_split=count, Tlen=DType.INT32)
        return [Endpoint(parts.node, slot) for slot in range(count)]

    return split


def unstack(layer: LayerCall) -> list[Endpoint]:
    """Return the parts along an axis, without it."""
    count = layer.kwargs.get("num")
    if not isinstance(count, int):
        raise Refusal("as many values as there are; state num")
    parts = layer.add("Unpack", "value", [tensor_argument(layer)], num=count, axis=stated_axis(layer, 0))
    return [Endpoint(parts.node, slot) for slot in range(count)]


def one_hot(layer: LayerCall) -> Endpoint:
    """Return 1 at each index, else 0."""
    if layer.kwargs.get("sparse"):
        raise Refusal("a sparse result")
    dtype = DType.of(layer.kwargs.get("dtype") or "float32")
    ends = [layer.constant(name, number, dtype.numpy().type) for name, number in (("on", 1), ("off", 0))]
    depth = layer.constant("depth", layer.kwargs["num_classes"])
    indices = layer.add("Cast", "places", [tensor_argument(layer)], DstT=DType.INT64)
    return layer.add("OneHot", "value", [indices, depth, *ends], axis=stated_axis(layer))


def einsum(layer: LayerCall) -> Endpoint:
    """Return a product by an equation."""
    operands = several_arguments(layer, layer.args)
    return layer.add("Einsum", "value", operands, equation=layer.kwargs["subscripts"], N=len(operands))


Pairs = tuple[Sequence[int], Sequence[int]]


def _make_product(stated_pairs: Callable[[LayerCall], Callable[[int, int], Pairs]]) -> Build:
    """Sums of products over pairs of axes, the other axes of both values behind each other. The pairs of an operation
    follow from the ranks of both values."""

    def product(layer: LayerCall) -> Endpoint:
        axes_of = stated_pairs(layer)

        def import_product(node: ImportNode) -> Imported:
            left, right = (node.rank(value) for value in node.inputs)
            if left + right > len(ascii_lowercase):
                node.refuse(f"{left + right} axes, at most {len(ascii_lowercase)} have a letter in an equation")
            firsts, seconds = axes_of(left, right)
            letters = [*ascii_lowercase[:left]], [*ascii_lowercase[left : left + right]]
            summed = set()
            for first, second in zip(firsts, seconds, strict=True):
                letter = letters[0][node.axis(first, left)]
                letters[1][node.axis(second, right)] = letter
                summed.add(letter)
            free = [letter for letter in letters[0] + letters[1] if letter not in summed]
            equation = f"{''.join(letters[0])},{''.join(letters[1])}->{''.join(free)}"
            return node.emit(Einsum(equation), *node.inputs)

        return layer.apply(import_product, "value", align_operands(layer))

    return product


def _pairs_of_tensordot(layer: LayerCall) -> Callable[[int, int], Pairs]:
    stated = layer.kwargs.get("axes", 2)
    if isinstance(stated, int):
        return lambda left, _: (range(left - stated, left), range(stated))
    if not isinstance(stated, list) or len(stated) != 2:
        raise Refusal(f"the axes {str(stated)[:40]}, expected a number or two lists")
    firsts, seconds = (whole_numbers([axes] if isinstance(axes, int) else axes, "its axes") for axes in stated)
    return lambda *_: (firsts, seconds)


def outer(layer: LayerCall) -> Endpoint:
    """Return each element of one value times each of another."""
    left, right = align_operands(layer)
    column = layer.add("Reshape", "column", [left, layer.constant("column_shape", [-1, 1])])
    return layer.add("Mul", "value", [column, flatten(layer, right)])


def vdot(layer: LayerCall) -> Endpoint:
    """Return the sum of the products of all elements."""
    products = layer.add("Mul", "products", [flatten(layer, side) for side in align_operands(layer)])
    return layer.add("Sum", "value", [products, layer.constant("axes", [0])], keep_dims=False)


def append(layer: LayerCall) -> Endpoint:
    """Return one value behind another, along an axis or all elements of both."""
    pair, axes = align_operands(layer), stated_axes(layer)
    if axes is None:
        pair = [flatten(layer, side) for side in pair]
    return layer.add("ConcatV2", "value", [*pair, layer.constant("axis", (axes or [0])[0])], N=2)


def broadcast_to(layer: LayerCall) -> Endpoint:
    """Repeat a value along axes of size 1, and along new ones in front."""
    shape = layer.constant("shape", whole_numbers(layer.kwargs["shape"], "the sizes"))
    return layer.add("BroadcastTo", "value", [tensor_argument(layer), shape])


def _make_flip(axis: int) -> Build:
    return lambda layer: layer.add("ReverseV2", "value", [tensor_argument(layer), layer.constant("axes", [axis])])


def rotate(layer: LayerCall) -> Endpoint:
    """Return a quarter turn in the plane of two axes: the axes exchanged, and one of them back to front."""
    turns, axes = int(layer.kwargs.get("k", 1)) % 4, stated_axes(layer, "axes") or [0, 1]
    data = tensor_argument(layer)
    if turns == 2:
        raise Refusal("half a turn, which Keras with TensorFlow computes otherwise unless both sizes are the same")
    if turns == 0:
        return data
    if len(axes) != 2:
        raise Refusal(f"the plane of the axes {axes}, expected two")

    def import_exchanged(node: ImportNode) -> Imported:
        rank = node.rank(node.input(0))
        order, (first, second) = list(range(rank)), (node.axis(axis, rank) for axis in axes)
        order[first], order[second] = second, first
        return node.emit(Transpose(tuple(order)), node.input(0))

    exchanged = layer.apply(import_exchanged, "exchanged", [data])
    return layer.add("ReverseV2", "value", [exchanged, layer.constant("back_to_front", [axes[turns // 2]])])


def _make_triangle_row(*, lower: bool) -> Build:
    def triangle(layer: LayerCall) -> Endpoint:
        k = layer.kwargs.get("k") or 0
        def import_triangle(node: ImportNode) -> Imported:
            return node.emit(Trilu(upper=not lower), node.input(0), node.constant(int(k), DType.INT64))

        return layer.apply(import_triangle, "value", [tensor_argument(layer)])

    return triangle


def full_like(layer: LayerCall) -> Endpoint:
    """Return a number for each element of a value."""
    number, dtype = argument(layer, 1, "fill_value"), layer.kwargs.get("dtype")
    if not isinstance(number, int | float):
        raise Refusal("a number that is computed")

    def import_full(node: ImportNode) -> Imported:
        sizes = node.step(Shape(), node.input(0), suffix="sizes")
        return node.emit(ConstantOfShape(float(number), node.dtype() if dtype is None else DType.of(dtype)), sizes)

    return layer.apply(import_full, "value", [tensor_argument(layer)])


def _make_concat(axis: int) -> Build:
    def joined(layer: LayerCall) -> Endpoint:
        operands = several_arguments(layer, first_argument(layer))
        return layer.add("ConcatV2", "value", [*operands, layer.constant("axis", axis)], N=len(operands))

    return joined


def _make_block_row(op: str) -> Build:
    def on_blocks(layer: LayerCall) -> Endpoint:
        layout = "NCHW" if layer.kwargs.get("data_format") == "channels_first" else "NHWC"
        size = layer.kwargs["block_size"]
        return layer.add(op, "value", [tensor_argument(layer)], block_size=size, data_format=layout)

    return on_blocks


SHAPE_ROWS: Mapping[str, Build] = {
    "Append": append,
    "BroadcastTo": broadcast_to,
    "DepthToSpace": _make_block_row("DepthToSpace"),
    "Dot": _make_product(lambda _: lambda _, right: ([-1], [-1 if right == 1 else -2])),
    "Dsplit": _make_split(2),
    "Dstack": _make_concat(2),
    "Einsum": einsum,
    "Flip": flip,
    "Fliplr": _make_flip(1),
    "Flipud": _make_flip(0),
    "FullLike": full_like,
    "Hsplit": _make_split(1),
    "Hstack": _make_concat(1),
    "Inner": _make_product(lambda _: lambda *_: ([-1], [-1])),
    "Moveaxis": _make_axis_move("source", "destination", swapped=False),
    "OneHot": one_hot,
    "Outer": outer,
    "Pad": pad,
    "Ravel": lambda layer: flatten(layer, tensor_argument(layer)),
    "Repeat": repeat,
    "Roll": roll,
    "Rot90": rotate,
    "SpaceToDepth": _make_block_row("SpaceToDepth"),
    "Split": _make_split(),
    "Swapaxes": _make_axis_move("axis1", "axis2", swapped=True),
    "Tensordot": _make_product(_pairs_of_tensordot),
    "Tile": tile,
    "Tril": _make_triangle_row(lower=True),
    "Triu": _make_triangle_row(lower=False),
    "Unstack": unstack,
    "Vdot": vdot,
    "Vsplit": _make_split(0),
    "Vstack": _make_concat(0),
}
