"""Resizing and sampling of spatial axes."""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.pytorch.exporting.context import ExportNode, call, list_of, row, short, table, tuple_of
from graphir.converters.pytorch.exporting.ops.activation import float_text
from graphir.ops import resize as ir
from graphir.types import DType

FLOATS = (DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64)
# F.interpolate by the number of spatial axes.
LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}
HALF_PIXEL = (ir.Coordinates.HALF_PIXEL, ir.Coordinates.PYTORCH_HALF_PIXEL, ir.Coordinates.HALF_PIXEL_SYMMETRIC)
ROUNDED = (ir.NearestMode.ROUND_PREFER_FLOOR, ir.NearestMode.ROUND_PREFER_CEIL)
PADDINGS = {
    ir.SamplePadding.ZEROS: None, ir.SamplePadding.BORDER: '"border"', ir.SamplePadding.REFLECTION: '"reflection"',
}  # fmt: skip
SAMPLES = {ir.SampleMode.LINEAR: None, ir.SampleMode.NEAREST: '"nearest"', ir.SampleMode.CUBIC: '"bicubic"'}


def export_resize(node: ExportNode[ir.Resize]) -> None:
    """F.interpolate where it computes the same, else a function of the file, with a matrix for each axis."""
    op, rank, data = node.op, node.rank(), node.tensor()
    axes = [node.axis(axis, rank) for axis in op.axes or range(rank)]
    options = _interpolation(node, axes)
    if options is not None:
        node.emit(call("F.interpolate", data, **options))
    elif op.factors:
        _general(node, axes, None, list_of(map(float_text, op.factors)))
    elif node.optional(2) is not None:
        _general(node, axes, None, f"{node.tensor(2).atom}.tolist()")
    else:
        _general(node, axes, node.int_list(3), None)


def _general(node: ExportNode[ir.Resize], axes: Sequence[int], sizes: str | None, scales: str | None) -> None:
    """The function of the file, with what differs from its defaults."""
    op = node.op
    named = {
        "sizes": sizes, "scales": scales,
        "axes": None if list(axes) == list(range(node.rank())) else list_of(axes),
        "mode": None if op.mode is ir.ResizeMode.NEAREST else f'"{op.mode.value}"',
        "coordinates": None if op.coordinates is ir.Coordinates.HALF_PIXEL else f'"{op.coordinates.value}"',
    }  # fmt: skip
    if op.mode is ir.ResizeMode.NEAREST and op.nearest_mode is not ir.NearestMode.ROUND_PREFER_FLOOR:
        named["rounding"] = f'"{op.nearest_mode.value}"'
    elif op.mode is not ir.ResizeMode.NEAREST:
        is_cubic = op.mode is ir.ResizeMode.CUBIC and op.cubic_coeff_a != -0.75
        named["a"] = float_text(op.cubic_coeff_a) if is_cubic else None
        named["exclude_outside"] = "True" if op.exclude_outside else None
        named["antialias"] = "True" if op.antialias else None
    if op.keep_aspect_ratio_policy is not ir.AspectPolicy.STRETCH:
        named["policy"] = f'"{op.keep_aspect_ratio_policy.value}"'
    if op.coordinates is ir.Coordinates.TF_CROP_AND_RESIZE:
        named["roi"] = f"{node.tensor(1).atom}.tolist()"
        named["outside"] = float_text(op.extrapolation_value) if op.extrapolation_value else None
    node.emit(call(node.function("resize"), node.tensor(), **named))


def _interpolation(node: ExportNode[ir.Resize], axes: Sequence[int]) -> dict[str, str | None] | None:
    """Return what F.interpolate takes; None where it does not do it."""
    op, rank = node.op, node.rank()
    spatial = rank - 2
    factors, shape, result = op.factors, node.shape(), node.shape(node.result)
    scale = dict(zip(axes, factors, strict=True)) if factors else {}
    is_stretched = op.keep_aspect_ratio_policy is ir.AspectPolicy.STRETCH
    if not 1 <= spatial <= 3 or node.dtype() not in FLOATS or op.antialias or not is_stretched:
        return None
    if not factors and node.optional(3) is None:
        return None
    if any(scale.get(axis, 1) != 1 if factors else shape[axis] != result[axis] for axis in (0, 1)):
        return None
    if factors:
        numbers = [scale.get(axis, 1.0) for axis in range(2, rank)]
        amounts: dict[str, str | None] = {"scale_factor": short(map(_factor, numbers))}
        is_whole = all(float(number).is_integer() for number in numbers)
        # torch rounds sizes in double precision, ONNX in single.
        fits = is_whole or all(
            isinstance(size, int) and int(size * number) == ir.scaled(size, number)
            for size, number in zip(shape[2:], numbers, strict=True)
        )
    else:
        sizes = [node.export.size(dim) for dim in result[2:]]
        amounts = {"size": tuple_of(sizes)}
        pairs = list(zip(shape[2:], result[2:], strict=True))
        is_whole = all(isinstance(old, int) and isinstance(new, int) and new % old == 0 for old, new in pairs)
        fits = None not in sizes
    grows = is_whole or all(isinstance(size, int) and size > 1 for size in result[2:])
    is_half = op.coordinates is ir.Coordinates.HALF_PIXEL or (op.coordinates in HALF_PIXEL[:2] and grows)
    is_aligned = op.coordinates is ir.Coordinates.ALIGN_CORNERS
    if not fits:
        return None
    if op.mode is ir.ResizeMode.NEAREST:
        floors = op.coordinates is ir.Coordinates.ASYMMETRIC and op.nearest_mode is ir.NearestMode.FLOOR
        rounds = op.coordinates in HALF_PIXEL and op.nearest_mode in ROUNDED
        return amounts if is_whole and (floors or rounds) else None
    is_cubic = op.mode is ir.ResizeMode.CUBIC
    if not (is_half or is_aligned) or (is_cubic and (spatial != 2 or op.cubic_coeff_a != -0.75)) or op.exclude_outside:
        return None
    mode = "bicubic" if is_cubic else LINEAR[spatial]
    return {**amounts, "mode": f'"{mode}"', "align_corners": "True" if is_aligned else None}


def _factor(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else float_text(number)


def export_grid_sample(node: ExportNode[ir.GridSample]) -> None:
    """F.grid_sample over 2 or 3 axes."""
    op, rank = node.op, node.rank()
    if rank not in (4, 5) or (rank == 5 and op.mode is ir.SampleMode.CUBIC):
        node.refuse(f"{op.mode.value} sampling over {rank - 2} axes; PyTorch has it over 2, all but cubic over 3 too")
    if node.dtype() not in FLOATS:
        node.refuse(f"sampling of {node.dtype()}; PyTorch has it of floats")
    grid, dtype = node.tensor(1), node.dtype()
    if node.dtype(1) is not dtype:
        grid = type(grid)(node.cast(grid, dtype))
    options = {
        "mode": SAMPLES[op.mode], "padding_mode": PADDINGS[op.padding_mode],
        "align_corners": "True" if op.align_corners else "False",
    }  # fmt: skip
    node.emit(call("F.grid_sample", node.tensor(), grid, **options))


def export_affine_grid(node: ExportNode[ir.AffineGrid]) -> None:
    """F.affine_grid."""
    align = "True" if node.op.align_corners else "False"
    node.emit(call("F.affine_grid", node.tensor(), node.int_list(1), align_corners=align))


EXPORTS = table(
    row(ir.Resize, export_resize),
    row(ir.GridSample, export_grid_sample),
    row(ir.AffineGrid, export_affine_grid),
)
