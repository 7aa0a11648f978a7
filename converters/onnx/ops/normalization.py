"""Normalizations: what an opset lacks is composed of means, and statistics wider than float32 always are."""

from __future__ import annotations

from graphir.converters.onnx.dtypes import CODES
from graphir.converters.onnx.exporting.context import AnyNode, ExportFunction, ExportNode, direct, row, rows, table
from graphir.converters.onnx.importing.context import ImportNode, ImportTable
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import normalization as ir
from graphir.ops.base import Operator
from graphir.ops.elementwise import Add, Div, Mul, Sqrt, Sub
from graphir.ops.reduction import ReduceMean
from graphir.ops.shape import Expand, Reshape, Shape, Unsqueeze
from graphir.ops.shape_parts import Concat
from graphir.types import DType


def export_batch_normalization(node: ExportNode[ir.BatchNormalization]) -> None:
    """Write BatchNormalization; vectors of another dtype than the data's exist from opset 15 on.

    Before that the data takes the vectors' dtype on the way.
    """
    op = node.op
    names = node.input_names()
    attributes = {name: value for name, value in op.attributes().items() if name != "fixed_statistics"}
    if node.opset >= 15 or len({node.dtype(slot) for slot in range(5)}) == 1:
        node.emit("BatchNormalization", names, **attributes)
        return
    dtype, wide = node.dtype(), max((node.dtype(slot) for slot in range(5)), key=lambda candidate: candidate.bits)
    cast = [_cast(node, name, node.dtype(slot), wide) for slot, name in enumerate(names)]
    node.emit("Cast", [node.step("BatchNormalization", cast, **attributes)], to=CODES[dtype])


def _cast(node: AnyNode, name: str, dtype: DType, to: DType) -> str:
    return name if dtype is to else node.step("Cast", [name], to=CODES[to])


def _trailing_axes(node: AnyNode, axis: int) -> tuple[int, ...]:
    """Return the axes from `axis` to the last, counted from the back; only an axis counted from the front needs the
    rank."""
    if axis >= 0:
        value = node.optional(0)
        if value is None or value.rank is None:
            node.refuse(f"axis {axis} counts from the front, and the operand's rank is unknown")
        axis -= value.rank
    return tuple(range(axis, 0))


def compose_layer_normalization(node: ExportNode[ir.LayerNormalization]) -> None:
    """The mean and the deviation from it as ONNX's definition of the operator has them."""
    op = node.op
    names = node.input_names()
    dtype, stash = node.dtype(), op.stash_type
    axes = _trailing_axes(node, op.axis)
    x = _cast(node, names[0], dtype, stash)
    mean = node.reduce("ReduceMean", x, axes, suffix="mean")
    centered = node.step("Sub", [x, mean], suffix="centered")
    square = node.step("Mul", [centered, centered], suffix="square")
    variance = node.reduce("ReduceMean", square, axes, suffix="variance")
    deviation = node.step("Sqrt", [node.step("Add", [variance, node.scalar(op.epsilon, stash)])])
    normalized = _cast(node, node.step("Div", [centered, deviation], suffix="normalized"), stash, dtype)
    if len(names) > 2:
        node.emit_result(0, "Add", [node.step("Mul", [normalized, names[1]], suffix="scaled"), names[2]])
    else:
        node.emit_result(0, "Mul", [normalized, names[1]])
    node.emit_result(1, "Identity", [mean])
    node.emit_result(2, "Reciprocal", [deviation])


def compose_rms_normalization(node: ExportNode[ir.RMSNormalization]) -> None:
    """Compute x / sqrt(mean(x * x) + epsilon) * scale."""
    op = node.op
    data, scale = node.input_names()
    dtype, stash = node.dtype(), op.stash_type
    x = _cast(node, data, dtype, stash)
    square, axes = node.step("Mul", [x, x], suffix="square"), _trailing_axes(node, op.axis)
    mean = node.reduce("ReduceMean", square, axes, suffix="mean")
    root = node.step("Sqrt", [node.step("Add", [mean, node.scalar(op.epsilon, stash)])])
    normalized = _cast(node, node.step("Div", [x, root], suffix="normalized"), stash, dtype)
    node.emit("Mul", [normalized, scale])


def compose_group_normalization(node: ExportNode[ir.GroupNormalization]) -> None:
    """The groups as the channels of an InstanceNormalization, then scale and bias for each channel."""
    op = node.op
    data, scale, bias = node.input_names()
    value = node.optional(0)
    if value is None or value.rank is None:
        node.refuse("its rank is unknown")
    dtype, stash = node.dtype(), op.stash_type
    x = _cast(node, data, dtype, stash)
    grouped = node.step("Reshape", [x, node.vector([0, op.num_groups, -1])], suffix="groups")
    ones = node.constant([1.0] * op.num_groups, stash)
    zeros = node.constant([0.0] * op.num_groups, stash)
    inner = node.step("InstanceNormalization", [grouped, ones, zeros], suffix="instance", epsilon=op.epsilon)
    restored = node.step("Reshape", [inner, node.step("Shape", [data])], suffix="restored")
    normalized = _cast(node, restored, stash, dtype)
    per_channel = node.vector([-1, *(1,) * (value.rank - 2)])
    wide = [node.step("Reshape", [name, per_channel], suffix=kind) for name, kind in ((scale, "scale"), (bias, "bias"))]
    node.emit("Add", [node.step("Mul", [normalized, wide[0]], suffix="scaled"), wide[1]])


Stashed = ir.LayerNormalization | ir.RMSNormalization | ir.GroupNormalization


def stashed(since: int, compose: ExportFunction) -> ExportFunction:
    """Return what writes a normalization: ONNX's own from an opset on, which computes in float32 or bfloat16."""

    def export_stashed(node: ExportNode[Stashed]) -> None:
        if node.opset >= since and node.op.stash_type in (DType.FLOAT32, DType.BFLOAT16):
            direct()(node)
        else:
            compose(node)

    return export_stashed


EXPORTS = table(
    row(ir.BatchNormalization, export_batch_normalization),
    *rows((ir.InstanceNormalization, ir.LRN, ir.LpNormalization), direct()),
    row(ir.GroupNormalization, stashed(21, compose_group_normalization)),
    row(ir.LayerNormalization, stashed(17, compose_layer_normalization)),
    row(ir.RMSNormalization, stashed(23, compose_rms_normalization)),
    # The axes are always stated: onnx's shape inference fails on their default.
    row(
        ir.MeanVarianceNormalization,
        lambda node: node.emit("MeanVarianceNormalization", node.input_names(), axes=node.op.axes),
    ),
)


def import_batch_normalization(node: ImportNode) -> None:
    """Read BatchNormalization, which says in `training_mode` whether it uses the statistics of this batch."""
    if node.flag("training_mode"):
        _train(node)
    else:
        node.emit(ir.BatchNormalization(**node.fields(ir.BatchNormalization)), *node.inputs)


def import_batch_normalization_7(node: ImportNode) -> None:
    """Read BatchNormalization before opset 14, which trains if more results than Y are asked for."""
    spatial = node.flag("spatial", default=True)
    if any(node.output_names[1:]):
        if not spatial:
            node.refuse("training with spatial=0 is not supported; ask for the first output alone")
        _train(node)
    elif spatial or node.rank() == 2:
        node.emit(ir.BatchNormalization(**node.fields(ir.BatchNormalization)), *node.inputs)
    else:
        _normalize_each(node)


def import_batch_normalization_1(node: ImportNode) -> None:
    """Read BatchNormalization before opset 7, where `is_test` says that it does not train.

    A node without it that gives Y alone is of the test mode too, by the number of its outputs.
    """
    is_test = node.flag("is_test")
    if is_test and any(node.output_names[1:]):
        node.refuse("it gives statistics of training, but is_test is set")
    if not is_test and not any(node.output_names[1:]):
        node.decide(
            DecisionKind.BATCH_NORMALIZATION,
            "is_test is not set, but only Y is asked for: the given statistics are used",
        )
    import_batch_normalization_7(node)


def _normalize_each(node: ImportNode) -> None:
    """spatial=0: the statistics have the shape of one sample."""
    x, scale, bias, mean, variance = (node.input(slot) for slot in range(5))
    node.ignore("momentum")
    epsilon = node.scalar(node.attribute("epsilon"))
    deviation = node.step(Sqrt(), node.step(Add(), variance, epsilon))
    normalized = node.step(Div(), node.step(Sub(), x, mean, suffix="centered"), deviation, suffix="normalized")
    node.emit(Add(), node.step(Mul(), normalized, scale, suffix="scaled"), bias)


def _train(node: ImportNode) -> None:
    """Y from the statistics of the batch; the given ones move on by 1 - momentum. Older versions give both."""
    x, scale, bias, mean, variance = (node.input(slot) for slot in range(5))
    fields = node.fields(ir.BatchNormalization)
    axes = node.vector([axis for axis in range(node.rank()) if axis != 1])
    wide = mean.dtype or node.dtype()
    data = node.cast(x, wide)
    centre = node.step(ReduceMean(), data, axes, suffix="batch_mean")
    centred = node.step(Sub(), data, centre, suffix="centered")
    square = node.step(Mul(), centred, centred, suffix="square")
    statistics = (
        node.step(Reshape(), centre, node.vector([-1]), suffix="mean"),
        node.step(ReduceMean(keepdims=False), square, axes, suffix="variance"),
    )
    op = ir.BatchNormalization(**fields)
    node.graph.add_node(op, (x, scale, bias, *statistics), name=node.name, output_names=node.output_names[:1])
    momentum = fields.get("momentum", 0.9)
    for slot, (old, new) in enumerate(zip((mean, variance), statistics, strict=True), 1):
        kept = node.step(Mul(), old, node.scalar(momentum, wide), suffix="kept")
        added = node.step(Mul(), new, node.scalar(1 - momentum, wide), suffix="added")
        _bind(node, slot, node.step(Add(), kept, added, suffix="running"))
        _bind(node, slot + 2, new)


def _bind(node: ImportNode, slot: int, value: Value) -> None:
    if slot < len(node.output_names) and node.output_names[slot]:
        node.bind(slot, value)


def import_group_normalization_18(node: ImportNode) -> None:
    """Read GroupNormalization before opset 21: one scale and bias for each group, computed in X's own dtype."""
    x, groups = node.input(0), node.attribute("num_groups")
    channels = x.shape[1] if x.shape is not None and len(x.shape) > 1 else None
    if isinstance(channels, int):
        each = node.vector([1, channels // groups])
    else:
        size = node.step(Div(), node.step(Shape(start=1, end=2), x), node.vector([groups]), suffix="size")
        each = node.step(Concat(0), node.vector([1]), size)
    vectors = []
    for slot in (1, 2):
        column = node.step(Unsqueeze(), node.input(slot), node.vector([1]))
        vectors.append(node.step(Reshape(), node.step(Expand(), column, each), node.vector([-1])))
    fields = node.fields(ir.GroupNormalization) | {"stash_type": x.dtype or DType.FLOAT32}
    node.emit(ir.GroupNormalization(**fields), x, *vectors)


DIRECT: tuple[type[Operator], ...] = (
    *(ir.InstanceNormalization, ir.LayerNormalization, ir.RMSNormalization, ir.LRN, ir.LpNormalization),
    ir.MeanVarianceNormalization,
)
IMPORTS: ImportTable = {
    **{op.__name__: {1: import_direct(op)} for op in DIRECT},
    "BatchNormalization": {
        1: import_batch_normalization_1,
        7: import_batch_normalization_7,
        14: import_batch_normalization,
    },
    "GroupNormalization": {18: import_group_normalization_18, 21: import_direct(ir.GroupNormalization)},
}
