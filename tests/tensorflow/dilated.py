"""Dilated convolutions as TensorFlow 1 writes them: SpaceToBatchND, a plain convolution, BatchToSpaceND."""

from __future__ import annotations

from typing import Any

from tests.tensorflow.case import Case, Input, Network, data, ints, param
from tests.tensorflow.graphdef import node

F, I = "float32", "int32"  # noqa: E741


def _group(
    title: str,
    source: Input,
    weight: Input,
    blocks: tuple[int, ...],
    pads: tuple[int, ...],
    crops: tuple[int, ...],
    *,
    op: str = "Conv2D",
    expand: int | None = None,
) -> Network:
    """`pads` and `crops` have (before, after) for each block. `expand` is the axis that a 1-D convolution adds."""
    added = expand is not None
    rank = len(blocks)
    types = {"T": F, "Tblock_shape": I}
    made: list[dict[str, Any]] = [
        node("SpaceToBatchND", "apart", ["x", "block", "pads"], Tpaddings=I, **types),
        *([node("ExpandDims", "wide", ["apart", "axis"], T=F, Tdim=I)] if added else []),
        node(op, "c", ["wide" if added else "apart", "w"], T=F, strides=(1, 1, 1, 1), padding="VALID"),
        *([node("Squeeze", "narrow", ["c"], T=F, squeeze_dims=(expand,))] if added else []),
        node("BatchToSpaceND", "y", ["narrow" if added else "c", "block", "crops"], Tcrops=I, **types),
    ]
    constants = [
        ints(*blocks, name="block"),
        ints(*pads, name="pads", shape=(rank, 2)),
        ints(*crops, name="crops", shape=(rank, 2)),
        *([ints(expand, name="axis", shape=())] if expand is not None else []),
    ]
    return Network(f"dilated-{title}", (source, weight, *constants), {}, nodes=tuple(made))


IMAGE, FILTER = data(2, 8, 9, 3, name="x"), param("w", 3, 2, 3, 4)
CASES: tuple[Case, ...] = (
    _group("even", IMAGE, FILTER, (2, 3), (0, 0, 0, 0), (0, 0, 0, 0)),
    _group("padded", IMAGE, FILTER, (2, 3), (2, 2, 1, 2), (0, 0, 0, 0)),
    _group("cropped", IMAGE, FILTER, (2, 4), (2, 2, 1, 2), (0, 1, 0, 2)),
    _group("depthwise", IMAGE, param("w", 3, 2, 3, 2), (2, 3), (2, 2, 1, 2), (1, 0, 0, 1), op="DepthwiseConv2dNative"),
    _group("vector-last", data(2, 9, 3, name="x"), param("w", 1, 3, 3, 4), (3,), (1, 2), (1, 0), expand=1),
    _group("vector-first", data(2, 9, 3, name="x"), param("w", 3, 1, 3, 4), (3,), (1, 2), (0, 2), expand=2),
)
