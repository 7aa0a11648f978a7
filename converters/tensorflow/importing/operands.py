"""What operators want of the shapes of operands that say sizes, axes and places: as TensorFlow's own shape functions.

Looked at once, before a node is imported, as far as the shapes are known; whoever imports the node may then count on
vectors that are vectors and on as many paddings as there are axes. `conformity` does the same for what the nodes
themselves state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from graphir.errors import ShapeError
from graphir.graph import Value
from graphir.types import Dim


@dataclass(frozen=True)
class OperandRule:
    """One operator's operands by slot; negative slots count from the end.

    `ranks` are the numbers of axes of the first operands, `sizes` are two numbers of at least 1. `scalars` have no axes
    (a single element counts as one, as TensorFlow's kernels see it), `vectors` one, `pairs` are matrices of two
    columns, `at_most` have one axis or none. `alike` have the same number of elements (a pair's are its rows);
    `of_rank` have one for each axis of the operand in slot `data`, `within_rank` at most as many.
    """

    scalars: tuple[int, ...] = ()
    vectors: tuple[int, ...] = ()
    pairs: tuple[int, ...] = ()
    at_most: tuple[int, ...] = ()
    alike: tuple[int, ...] = ()
    of_rank: tuple[int, ...] = ()
    within_rank: tuple[int, ...] = ()
    ranks: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()
    data: int = field(default=0, kw_only=True)


_OF_4, _OF_5 = OperandRule(ranks=(4,)), OperandRule(ranks=(5,))
_PADDED = OperandRule(pairs=(1,), of_rank=(1,))
_REDUCED = OperandRule(at_most=(1,))
_RESIZED = OperandRule(vectors=(1,), ranks=(4,), sizes=(1,))
RULES: Mapping[str, OperandRule] = {
    "ArgMax": OperandRule(scalars=(1,)),
    "ArgMin": OperandRule(scalars=(1,)),
    "BatchToSpace": OperandRule(pairs=(1,)),
    "BatchToSpaceND": OperandRule(vectors=(1,), pairs=(2,), alike=(1, 2), within_rank=(1,)),
    "BroadcastArgs": OperandRule(vectors=(0, 1)),
    "BroadcastTo": OperandRule(vectors=(1,)),
    "CombinedNonMaxSuppression": OperandRule(ranks=(4, 3), scalars=(2, 3, 4, 5)),
    "Concat": OperandRule(scalars=(0,)),
    "ConcatV2": OperandRule(scalars=(-1,)),
    **dict.fromkeys(("BlockLSTM", "BlockLSTMV2"), OperandRule(ranks=(0, 3, 2, 2, 2, 1, 1, 1, 1))),
    "CropAndResize": OperandRule(ranks=(4, 2), vectors=(2, 3), sizes=(3,)),
    "Cumprod": OperandRule(scalars=(1,)),
    "Cumsum": OperandRule(scalars=(1,)),
    "CumulativeLogsumexp": OperandRule(scalars=(1,)),
    "Empty": OperandRule(vectors=(0,)),
    "ExpandDims": OperandRule(scalars=(1,)),
    "FakeQuantWithMinMaxVars": OperandRule(scalars=(1, 2)),
    "FakeQuantWithMinMaxVarsPerChannel": OperandRule(vectors=(1, 2), alike=(1, 2)),
    "Fill": OperandRule(vectors=(0,), scalars=(1,)),
    "GatherV2": OperandRule(scalars=(2,)),
    "GRUBlockCell": OperandRule(ranks=(2, 2, 2, 2, 1, 1)),
    "LSTMBlockCell": OperandRule(ranks=(2, 2, 2, 2, 1, 1, 1, 1)),
    "LinSpace": OperandRule(scalars=(0, 1, 2)),
    "MirrorPad": _PADDED,
    "Multinomial": OperandRule(scalars=(1,)),
    "NonMaxSuppression": OperandRule(scalars=(2,)),
    "NonMaxSuppressionV2": OperandRule(scalars=(2, 3)),
    "NonMaxSuppressionV3": OperandRule(scalars=(2, 3, 4)),
    "NonMaxSuppressionV4": OperandRule(scalars=(2, 3, 4)),
    "NonMaxSuppressionV5": OperandRule(scalars=(2, 3, 4, 5)),
    "OneHot": OperandRule(scalars=(1, 2, 3)),
    "Pad": _PADDED,
    "PadV2": OperandRule(pairs=(1,), scalars=(2,), of_rank=(1,)),
    "RandomStandardNormal": OperandRule(vectors=(0,)),
    "RandomUniform": OperandRule(vectors=(0,)),
    "RandomUniformInt": OperandRule(vectors=(0,), scalars=(1, 2)),
    "Range": OperandRule(scalars=(0, 1, 2)),
    "Reshape": OperandRule(at_most=(1,)),
    "ResizeArea": _RESIZED,
    "ResizeBicubic": _RESIZED,
    "ResizeBilinear": _RESIZED,
    "ResizeNearestNeighbor": _RESIZED,
    "Reverse": OperandRule(vectors=(1,), of_rank=(1,)),
    "ReverseSequence": OperandRule(vectors=(1,)),
    "ReverseV2": OperandRule(vectors=(1,), within_rank=(1,)),
    "Roll": OperandRule(at_most=(1, 2), alike=(1, 2)),
    "ScatterNd": OperandRule(vectors=(2,)),
    "Slice": OperandRule(vectors=(1, 2), alike=(1, 2), of_rank=(1,)),
    "SpaceToBatch": OperandRule(pairs=(1,)),
    "SpaceToBatchND": OperandRule(vectors=(1,), pairs=(2,), alike=(1, 2), within_rank=(1,)),
    "SparseToDense": OperandRule(vectors=(1,)),
    "Split": OperandRule(scalars=(0,)),
    "SplitV": OperandRule(vectors=(1,), scalars=(2,)),
    "StatelessRandomNormal": OperandRule(vectors=(0,)),
    "StatelessRandomUniform": OperandRule(vectors=(0,)),
    "StridedSlice": OperandRule(vectors=(1, 2, 3), alike=(1, 2, 3)),
    "Tile": OperandRule(vectors=(1,), of_rank=(1,)),
    "TopKV2": OperandRule(scalars=(1,)),
    "Transpose": OperandRule(vectors=(1,), of_rank=(1,)),
    "ConjugateTranspose": OperandRule(vectors=(1,), of_rank=(1,)),
    "TruncatedNormal": OperandRule(vectors=(0,)),
    "Conv2DBackpropInput": OperandRule(vectors=(0,), ranks=(1, 4, 4)),
    "Conv3DBackpropInputV2": OperandRule(vectors=(0,), ranks=(1, 5, 5)),
    "Dilation2D": OperandRule(ranks=(4, 3)),
    **dict.fromkeys(("Conv2D", "DepthwiseConv2dNative"), OperandRule(ranks=(4, 4))),
    "Conv3D": OperandRule(ranks=(5, 5)),
    "BiasAddV1": OperandRule(vectors=(1,)),
    "BiasAdd": OperandRule(vectors=(1,)),
    **dict.fromkeys(("AvgPool", "DepthToSpace", "ExtractImagePatches", "LRN", "MaxPool", "MaxPoolWithArgmax",
                     "SpaceToDepth"), _OF_4),
    **dict.fromkeys(("AvgPool3D", "ExtractVolumePatches", "MaxPool3D"), _OF_5),
    **dict.fromkeys(("All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum"), _REDUCED),
}


def check_operands(op: str, operands: Sequence[Value]) -> None:
    """Raise ShapeError, naming the operand, if one has a shape that the operator cannot take."""
    rule = RULES.get(op)
    if rule is None:
        return
    for slot, rank in enumerate(rule.ranks):
        value = _operand(operands, slot)
        if value is not None and value.rank != rank:
            raise ShapeError(f"operand {slot} ({value.name}) is {value.type}, expected {rank} axes")
    kinds = ((rule.scalars, "a scalar"), (rule.vectors, "a vector"), (rule.pairs, "a matrix of two columns"),
             (rule.at_most, "a scalar or a vector"))  # fmt: skip
    for slots, wanted in kinds:
        for slot in slots:
            value = _operand(operands, slot)
            if value is not None and not _FITS[wanted](value.shape or ()):
                raise ShapeError(f"operand {slot} ({value.name}) is {value.type}, expected {wanted}")
    for slot in rule.sizes:
        value = _operand(operands, slot)
        known = None if value is None else value.integers
        if value is not None and (_count(operands, slot) not in (2, None) or (known and min(known) < 1)):
            actual = known or value.type
            raise ShapeError(f"operand {slot} ({value.name}) is {actual}, expected two sizes of at least 1")
    _check_counts(rule, operands)


def _check_counts(rule: OperandRule, operands: Sequence[Value]) -> None:
    counts = {slot: count for slot in rule.alike if (count := _count(operands, slot)) is not None}
    if len(set(counts.values())) > 1:
        shown = ", ".join(f"{count} in operand {slot}" for slot, count in counts.items())
        raise ShapeError(f"expected as many elements in each of its operands, found {shown}")
    data = _operand(operands, rule.data)
    rank = None if data is None or data.shape is None else len(data.shape)
    if rank is None:
        return
    for slot in (*rule.of_rank, *rule.within_rank):
        count = _count(operands, slot)
        exact = slot in rule.of_rank
        if count is not None and (count != rank if exact else count > rank):
            many = f"{rank}, one for each axis" if exact else f"at most {rank}"
            raise ShapeError(f"operand {slot} has {count} entries, expected {many} of {operands[rule.data].name}")


def _operand(operands: Sequence[Value], slot: int) -> Value | None:
    """Return the operand in a slot if its rank is known."""
    if not -len(operands) <= slot < len(operands):
        return None
    value = operands[slot]
    return None if value.shape is None else value


def _count(operands: Sequence[Value], slot: int) -> int | None:
    value = _operand(operands, slot)
    if value is None or not value.shape:
        return None if value is None else 1
    size = value.shape[0]
    return size if isinstance(size, int) else None


def _is_one(size: Dim) -> bool:
    return size == 1 or not isinstance(size, int)


_FITS: Mapping[str, Callable[[tuple[Dim, ...]], bool]] = {
    "a scalar": lambda shape: all(map(_is_one, shape)),
    "a vector": lambda shape: len(shape) == 1,
    "a scalar or a vector": lambda shape: len(shape) < 2,
    "a matrix of two columns": lambda shape: len(shape) == 2 and (shape[1] == 2 or not isinstance(shape[1], int)),
}
