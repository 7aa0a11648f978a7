"""Blocks of rows and columns as channels, or as images of the batch: both layouts, odd paddings, ranks from 3 to 5."""

from __future__ import annotations

from tests.tensorflow.case import Case, Input, case, data, ints

SIX_AXES = "a transpose of more than 6 axes"


def pairs(*numbers: int) -> Input:
    """(before, after) of each axis."""
    return ints(*numbers, shape=(len(numbers) // 2, 2))


CASES: tuple[Case, ...] = (
    case("SpaceToDepth", "nhwc", data(2, 4, 6, 3), block_size=2),
    case("SpaceToDepth", "block_3", data(1, 3, 6, 2, dtype="float32"), block_size=3),
    case("DepthToSpace", "nhwc", data(2, 2, 3, 12), block_size=2),
    case("DepthToSpace", "block_3", data(1, 2, 3, 18), block_size=3),
    case("SpaceToBatchND", "images", data(2, 4, 6, 3), ints(2, 3), pairs(0, 0, 0, 0)),
    case("SpaceToBatchND", "padded", data(2, 5, 7, 3), ints(2, 3), pairs(1, 0, 2, 3)),
    case("SpaceToBatchND", "sequence", data(2, 5, 3), ints(4), pairs(2, 1)),
    case("SpaceToBatchND", "volume", data(1, 2, 4, 6, 2), ints(1, 2, 3), pairs(0, 0, 0, 0, 0, 0),
         mxnet_lacks=SIX_AXES),
    case("SpaceToBatchND", "matrix", data(3, 4, dtype="int32"), ints(2), pairs(0, 0)),
    case("SpaceToBatch", "default", data(2, 4, 5, 3), pairs(0, 0, 1, 0), block_size=2),
    case("BatchToSpaceND", "images", data(12, 2, 3, 3), ints(2, 3), pairs(0, 0, 0, 0)),
    case("BatchToSpaceND", "cropped", data(12, 3, 4, 2), ints(2, 3), pairs(1, 0, 2, 3)),
    case("BatchToSpaceND", "sequence", data(8, 5, 3), ints(4), pairs(2, 1)),
    case("BatchToSpaceND", "volume", data(6, 2, 2, 2, 2), ints(1, 2, 3), pairs(0, 0, 0, 0, 0, 0),
         mxnet_lacks=SIX_AXES),
    case("BatchToSpace", "default", data(8, 2, 3, 3), pairs(0, 0, 1, 0), block_size=2),
)  # fmt: skip
REFUSED: tuple[Case, ...] = (
    case("SpaceToDepth", "packed", data(1, 4, 4, 4), block_size=2, data_format="NCHW_VECT_C", reason="NCHW_VECT_C"),
    case("SpaceToBatchND", "size", data(1, 5, 4, 3), ints(2, 2), pairs(0, 0, 0, 0), reason="block of 2"),
    case("SpaceToBatchND", "computed", data(1, 4, 4, 3), data(2, dtype="int32"), pairs(0, 0, 0, 0),
         reason="the block's shape"),
)  # fmt: skip
