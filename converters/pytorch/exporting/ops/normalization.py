"""Normalizations over tensors (batch, channels, spatial...)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphir.converters.pytorch.exporting.context import ExportNode, Expr, axes_text, binary, call, row, table, tuple_of
from graphir.converters.pytorch.exporting.ops.activation import float_text
from graphir.converters.pytorch.exporting.ops.convolution import WEIGHTS
from graphir.decisions import DecisionKind
from graphir.ops import normalization as ir
from graphir.tensor import Tensor
from graphir.types import DType

# nn.BatchNorm and nn.InstanceNorm by the number of axes of their data.
BATCH_NORMS = {2: "nn.BatchNorm1d", 3: "nn.BatchNorm1d", 4: "nn.BatchNorm2d", 5: "nn.BatchNorm3d"}
INSTANCE_NORMS = {3: "nn.InstanceNorm1d", 4: "nn.InstanceNorm2d", 5: "nn.InstanceNorm3d"}
STATES = {"weight": 1, "bias": 2, "running_mean": 3, "running_var": 4}
# What training may leave as it is, and the number that its elements are then.
FIXED = {"weight": (DecisionKind.FIXED_GAMMA, 1), "bias": (DecisionKind.FIXED_BETA, 0)}
# The smallest numbers, for what must be no division by zero.
SMALLEST = {DType.FLOAT16: "6e-08", DType.BFLOAT16: "1e-38", DType.FLOAT32: "1e-38", DType.FLOAT64: "1e-308"}


def epsilon(number: float) -> str | None:
    """Return an eps, None for that of torch's layers."""
    text = float_text(number)
    return None if text == "1e-05" else text


def export_batch_normalization(node: ExportNode[ir.BatchNormalization]) -> None:
    """nn.BatchNorm1d to 3d, whose momentum is the share of the new value; F.batch_norm where the vectors are not all
    constant."""
    op = node.op
    if op.epsilon < 0:
        node.refuse(f"an epsilon of {float_text(op.epsilon)}; PyTorch has none below 0")
    eps = epsilon(op.epsilon)
    constructor = BATCH_NORMS.get(node.rank())
    owned = node.constants(STATES)
    if owned and op.fixed_statistics:
        _export_fixed_statistics(node, eps)
        return
    if constructor is not None and owned:
        (channels,) = node.sizes(1)
        momentum = None if abs(op.momentum - 0.9) < 1e-6 else float_text(round(1 - op.momentum, 7))
        layer = node.layer(constructor, [channels], {"eps": eps, "momentum": momentum}, owned)
        for name in FIXED:
            if node.export.training and _is_fixed(node, name):
                node.export.frozen[f"{layer.removeprefix('self.')}.{name}"] = constructor
        node.emit(f"{layer}({node.tensor()})")
        return
    data, scale, bias, mean, variance = node.tensors()
    node.emit(call("F.batch_norm", data, mean, variance, scale, bias, eps=eps))


def _is_fixed(node: ExportNode[ir.BatchNormalization], name: str) -> bool:
    """Return whether training leaves a vector as it is. Several nodes may have the name that the decision states."""
    (kind, element), tensor = FIXED[name], node.weight(STATES[name])
    return tensor is not None and node.is_decided(kind) and bool((tensor.numpy() == element).all())


def _export_fixed_statistics(node: ExportNode[ir.BatchNormalization], eps: str | None) -> None:
    """F.batch_norm with the stored statistics, which nn.BatchNorm leaves for those of the batch in training."""
    statistics = []
    for slot in (STATES["running_mean"], STATES["running_var"]):
        value = node.input(slot)
        assert value.tensor is not None
        text = node.export.store_tensor(value.name, value.tensor, is_buffer=True)
        node.export.sources[text.removeprefix("self.")] = value.name
        statistics.append(text)
    scale = node.tensor(STATES["weight"])
    if _is_fixed(node, "weight"):
        node.export.frozen[scale.removeprefix("self.")] = "nn.Module"
    node.emit(call("F.batch_norm", node.tensor(), *statistics, scale, node.tensor(STATES["bias"]), eps=eps))


def export_instance_normalization(node: ExportNode[ir.InstanceNormalization]) -> None:
    """nn.InstanceNorm1d to 3d with constant vectors; torch.group_norm with a group for each channel is the same of any
    number of axes, and of images of one pixel."""
    shape, eps = node.shape(), epsilon(node.op.epsilon)
    constructor = INSTANCE_NORMS.get(len(shape))
    is_pixel, owned = all(size == 1 for size in shape[2:]), node.constants(WEIGHTS)
    if constructor is not None and not is_pixel and owned:
        (channels,) = node.sizes(1)
        layer = node.layer(constructor, [channels], {"eps": eps, "affine": "True"}, owned)
        node.emit(f"{layer}({node.tensor()})")
        return
    data, scale, bias = node.tensors()
    node.emit(call("torch.group_norm", data, node.size(0, 1), scale, bias, eps=eps))


def export_group_normalization(node: ExportNode[ir.GroupNormalization]) -> None:
    """nn.GroupNorm with constant vectors, else torch.group_norm."""
    eps, groups = epsilon(node.op.epsilon), str(node.op.num_groups)
    if owned := node.constants(WEIGHTS):
        (channels,) = node.sizes(1)
        layer = node.layer("nn.GroupNorm", [groups, channels], {"eps": eps}, owned)
        node.emit(f"{layer}({node.tensor()})")
        return
    data, scale, bias = node.tensors()
    node.emit(call("torch.group_norm", data, groups, scale, bias, eps=eps))


def export_layer_normalization(node: ExportNode[ir.LayerNormalization]) -> None:
    """nn.LayerNorm or F.layer_norm. The statistics are computed apart."""
    op, data, rank = node.op, node.tensor(), node.rank()
    slots = {"weight": 1} | ({"bias": 2} if node.optional(2) is not None else {})
    options = {"eps": epsilon(op.epsilon), "bias": None if "bias" in slots else "False"}
    _export_trailing(node, "nn.LayerNorm", "F.layer_norm", slots, options)
    axes = axes_text(range(node.axis(op.axis, rank), rank))
    wide = data if op.stash_type is node.dtype() else Expr(node.cast(data, op.stash_type))
    if node.is_read(1):
        node.emit(f"{wide.atom}.mean({axes}, keepdim=True)", 1)
    if node.is_read(2):
        variance = Expr(f"{wide.atom}.var({axes}, correction=0, keepdim=True)")
        node.emit(f"{binary('+', variance, float_text(op.epsilon)).atom}.rsqrt()", 2)


def export_rms_normalization(node: ExportNode[ir.RMSNormalization]) -> None:
    """nn.RMSNorm or F.rms_norm."""
    _export_trailing(node, "nn.RMSNorm", "F.rms_norm", {"weight": 1}, {"eps": float_text(node.op.epsilon)})


def _export_trailing(
    node: ExportNode[ir.LayerNormalization] | ExportNode[ir.RMSNormalization], module: str, function: str,
    slots: Mapping[str, int], options: Mapping[str, str | None],
) -> None:
    """A module with constant weights of the shape that is normalized, else a function; weights of another shape are
    multiplied with what it gives. `slots` are those of the weights, `options` what the module takes."""
    rank, data = node.rank(), node.tensor()
    axis = node.axis(node.op.axis, rank)
    trailing = node.shape()[axis:]
    weights = {name: _of_shape(node.weight(slot), trailing) for name, slot in slots.items()}
    tensors = {name: tensor for name, tensor in weights.items() if tensor is not None}
    if len(tensors) == len(slots):
        sizes = node.sizes(0, range(axis, rank))
        pairs = {name: (tensor, node.input(slots[name])) for name, tensor in tensors.items()}
        layer = node.layer(module, [axes_text(sizes)], options, pairs)
        node.emit(f"{layer}({data})")
        return
    shape, eps = tuple_of(node.size(0, place) for place in range(axis, rank)), options["eps"]
    if all(node.shape(slot) == trailing for slot in slots.values()):
        node.emit(call(function, data, shape, *map(node.tensor, slots.values()), eps=eps))
        return
    text = binary("*", call(function, data, shape, eps=eps), node.tensor(1))
    node.emit(binary("+", text, node.tensor(2)) if "bias" in slots else text)


def _of_shape(tensor: Tensor | None, shape: Sequence[object]) -> Tensor | None:
    """Return a constant in this shape, None where it has another one besides leading axes of one element."""
    if tensor is None:
        return None
    if tensor.shape == tuple(shape):
        return tensor
    extra = len(tensor.shape) - len(shape)
    fits = extra > 0 and tensor.shape[extra:] == tuple(shape) and set(tensor.shape[:extra]) == {1}
    return tensor.reshaped(tensor.shape[extra:]) if fits else None


def export_lrn(node: ExportNode[ir.LRN]) -> None:
    """F.local_response_norm; the window of an even size lies one channel further behind in ONNX, and two axes or
    narrow floats are not its own."""
    op = node.op
    numbers = [float_text(number) for number in (op.alpha, op.beta, op.bias)]
    if op.size % 2 and node.rank() > 2 and node.dtype() in (DType.FLOAT32, DType.FLOAT64):
        named = {name: None if text == usual else text for name, text, usual in
                 zip(("alpha", "beta", "k"), numbers, ("0.0001", "0.75", "1.0"), strict=True)}  # fmt: skip
        node.emit(call("F.local_response_norm", node.tensor(), str(op.size), **named))
        return
    node.emit(call(node.function("local_response_norm"), node.tensor(), str(op.size), *numbers))


def export_lp_normalization(node: ExportNode[ir.LpNormalization]) -> None:
    """F.normalize, whose eps is small enough to change nothing but 0 / 0, which is 0."""
    op = node.op
    eps = SMALLEST.get(node.dtype())
    p, dim = None if op.p == 2 else str(op.p), None if op.axis == 1 else str(op.axis)
    node.emit(call("F.normalize", node.tensor(), p=p, dim=dim, eps=eps))


def export_mean_variance_normalization(node: ExportNode[ir.MeanVarianceNormalization]) -> None:
    """Centred, and divided by the root of the variance, to which ONNX adds 1e-9."""
    axes = [node.axis(axis, node.rank()) for axis in node.op.axes]
    data, dims = node.tensor(), axes_text(axes)
    centred = binary("-", data, f"{data.atom}.mean({dims}, keepdim=True)")
    deviation = f"{data.atom}.std({dims}, correction=0, keepdim=True)"
    node.emit(binary("/", centred, binary("+", deviation, "1e-09")))


EXPORTS = table(
    row(ir.BatchNormalization, export_batch_normalization),
    row(ir.InstanceNormalization, export_instance_normalization),
    row(ir.GroupNormalization, export_group_normalization),
    row(ir.LayerNormalization, export_layer_normalization),
    row(ir.RMSNormalization, export_rms_normalization),
    row(ir.LRN, export_lrn),
    row(ir.LpNormalization, export_lp_normalization),
    row(ir.MeanVarianceNormalization, export_mean_variance_normalization),
)
