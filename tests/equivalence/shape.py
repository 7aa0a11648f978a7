"""Cases of operators that move elements."""

from __future__ import annotations

from tests.equivalence.case import Case, Input, case, data


def pair(left: tuple[int, ...], right: tuple[int, ...], names: tuple[str, str] = ("lhs", "rhs")) -> tuple[Input, Input]:
    """Two operands."""
    return data(*left, name=names[0]), data(*right, name=names[1])


def several(*shapes: tuple[int, ...], stem: str = "arg") -> tuple[Input, ...]:
    """Numbered operands."""
    return tuple(data(*shape, name=f"{stem}{slot}") for slot, shape in enumerate(shapes))


CUBE = data(2, 3, 4)
IMAGE = data(2, 3, 5, 6)

RESHAPE_CODES: tuple[tuple[int, ...], ...] = (
    (6, 4), (-1,), (0, -1), (0, 0, -1), (-1, 4), (-2,), (0, -2), (-2, 1), (-3, 4), (-3, -2), (0, -3), (0, -3, 1),
    (-4, 1, 2, -2), (0, -4, 3, -1, 4), (0, -4, -1, 1, -2), (-2, 1, 1), (-3, 0), (2, -4, -1, 3, 4),
)  # fmt: skip

MOVES = (
    *(case("Reshape", str(code).replace(" ", ""), CUBE, shape=code) for code in RESHAPE_CODES),
    case("Reshape", "reverse_0", data(10, 5, 4), shape=(-1, 0), reverse=True),
    case("Reshape", "reverse_-3", data(2, 3, 4), shape=(0, -3), reverse=True),
    case("Reshape", "reverse_-1_0_0", data(2, 3, 4, 5), shape=(-1, 0, 0), reverse=True),
    case("Reshape", "reverse_-2", data(2, 3, 4), shape=(-2, 4), reverse=True),
    case("Reshape", "target_shape", CUBE, target_shape=(2, 0)),
    case("Reshape", "target_shape_keep_highest", CUBE, target_shape=(0, 12), keep_highest=True),
    case("Reshape", "int32", data(2, 3, dtype="int32"), shape=(-1,)),
    case("Flatten", "rank_4", IMAGE),
    case("Flatten", "rank_2", data(2, 3)),
    case("Flatten", "rank_1", data(4)),
    case("transpose", "reversed", CUBE),
    case("transpose", "axes", CUBE, axes=(1, 2, 0)),
    case("transpose", "rank_4", IMAGE, axes=(0, 2, 3, 1)),
    case("transpose", "empty_axes", CUBE, axes=()),
    case("SwapAxis", "0_2", CUBE, dim1=0, dim2=2),
    case("SwapAxis", "negative", CUBE, dim1=-1, dim2=1),
    *(case("expand_dims", f"axis_{axis}", CUBE, axis=axis) for axis in (0, 1, 3, -1, -2)),
    case("squeeze", "all", data(1, 3, 1, 4)),
    case("squeeze", "axis_0", data(1, 3, 1), axis=0),
    case("squeeze", "axis_tuple", data(1, 3, 1), axis=(0, 2)),
    case("squeeze", "negative", data(1, 3, 1), axis=-1),
    case("squeeze", "nothing_left", data(1, 1)),
    case("broadcast_to", "two_axes", data(1, 3, 1), shape=(2, 3, 4)),
    case("broadcast_to", "0_keeps", data(1, 3, 1), shape=(2, 0, 4)),
    case("broadcast_axis", "one", data(1, 3, 1), axis=0, size=2),
    case("broadcast_axis", "two", data(1, 3, 1), axis=(0, 2), size=(2, 4)),
    case("broadcast_like", "whole", *pair((1, 3, 1), (2, 3, 4))),
    case("broadcast_like", "axes", *pair((1, 3, 1), (5, 7)), lhs_axes=(0, 2), rhs_axes=(1, 0)),
    case("broadcast_like", "negative_axes", *pair((1, 3, 1), (5, 7)), lhs_axes=(-1,), rhs_axes=(-1,)),
    case("tile", "same_rank", data(2, 3), reps=(2, 1)),
    case("tile", "more", data(2, 3), reps=(2, 1, 3)),
    case("tile", "fewer", data(2, 3), reps=(2,)),
    case("repeat", "flattened", data(2, 3), repeats=2),
    case("repeat", "axis_1", data(2, 3), repeats=3, axis=1),
    case("repeat", "negative", data(2, 3), repeats=2, axis=-2),
    case("reverse", "one", CUBE, axis=1),
    case("reverse", "tuple", CUBE, axis=(1,)),
    case("reverse", "two", CUBE, axis=(0, 2)),
    case("depth_to_space", "block_2", data(2, 12, 2, 3), block_size=2),
    case("depth_to_space", "block_3", data(1, 9, 2, 2), block_size=3),
    case("space_to_depth", "block_2", data(2, 3, 4, 6), block_size=2),
    case("reshape_like", "whole", *pair((2, 6), (3, 4))),
    case("reshape_like", "ranges", *pair((30, 7), (15, 2, 4)), lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2),
    case("reshape_like", "negative", *pair((7, 30), (4, 15, 2)), lhs_begin=-1, rhs_begin=-2),
    case("shape_array", "rank_3", CUBE),
    case("size_array", "rank_3", CUBE),
    case("diag", "matrix", data(3, 4)),
    case("diag", "offset", data(3, 4), k=1),
    case("diag", "vector", data(3), k=-1),
    case("diag", "axes", CUBE, axis1=0, axis2=2),
)

PARTS = (
    case("slice", "both_ends", IMAGE, begin=(0, 1), end=(2, 3)),
    case("slice", "none", IMAGE, begin=(None, 1, None, 2), end=(None, 3, None, 5)),
    case("slice", "negative", IMAGE, begin=(-1, -3), end=(2, -1)),
    case("slice", "step", IMAGE, begin=(0, 0, 1), end=(2, 3, 5), step=(1, 2, 3)),
    case("slice", "step_-1", CUBE, begin=(None, None), end=(None, None), step=(1, -1)),
    case("slice", "step_-2_bounds", IMAGE, begin=(None, None, 4), end=(None, None, 0), step=(None, None, -2)),
    case("slice", "end_beyond", CUBE, begin=(0, 1), end=(2, 99)),
    case("slice_axis", "plain", CUBE, axis=1, begin=1, end=3),
    case("slice_axis", "to_the_end", CUBE, axis=2, begin=1, end=None),
    case("slice_axis", "negative", CUBE, axis=-1, begin=-3, end=-1),
    case("slice_like", "all", *pair((4, 5, 6), (2, 3, 4), ("data", "shape_like"))),
    case("slice_like", "axes", *pair((4, 5, 6), (2, 3, 4), ("data", "shape_like")), axes=(0, -1)),
    case("slice_like", "other_rank", *pair((1, 2, 8, 9), (3, 4, 5, 6), ("data", "shape_like")), axes=(2, 3)),
    case("Crop", "h_w", *several((1, 2, 7, 8)), num_args=1, h_w=(3, 4), offset=(1, 2)),
    case("Crop", "center", *several((1, 2, 7, 8)), num_args=1, h_w=(4, 5), center_crop=True),
    case("Crop", "like", *several((1, 2, 7, 8), (1, 5, 3, 4)), num_args=2, offset=(2, 3)),
    case("Crop", "like_center", *several((1, 2, 7, 8), (1, 5, 4, 4)), num_args=2, center_crop=True),
    case("Concat", "default", *several((2, 3), (2, 4)), num_args=2),
    case("Concat", "three", *several((2, 3, 4), (2, 1, 4), (2, 2, 4)), num_args=3, dim=1),
    case("Concat", "dim_0", *several((2, 3), (1, 3)), num_args=2, dim=0),
    case("Concat", "negative", *several((2, 3, 4), (2, 3, 1)), num_args=2, dim=-1),
    case("Concat", "single", *several((2, 3)), num_args=1, dim=1),
    case("stack", "default", *several((2, 3), (2, 3)), num_args=2),
    case("stack", "axis_1", *several((2, 3), (2, 3), (2, 3)), num_args=3, axis=1),
    case("stack", "negative", *several((2, 3), (2, 3)), num_args=2, axis=-1),
    case("SliceChannel", "default", data(2, 6, 3), num_outputs=3),
    case("SliceChannel", "axis_0", data(4, 3), num_outputs=2, axis=0),
    case("SliceChannel", "negative", data(2, 3, 4), num_outputs=4, axis=-1),
    case("SliceChannel", "squeeze", data(2, 3, 4), num_outputs=3, axis=1, squeeze_axis=True),
    case("SliceChannel", "one_squeezed", data(2, 1, 4), num_outputs=1, axis=1, squeeze_axis=1),
    case("SliceChannel", "one", data(2, 3), num_outputs=1),
    case("_split_v2", "indices", data(2, 7, 3), indices=(0, 2, 5), axis=1),
    case("_split_v2", "sections", data(6, 3), indices=(), axis=0, sections=3),
    case("_split_v2", "squeeze", data(2, 3), indices=(0, 1, 2), axis=1, squeeze_axis=True),
    case("Pad", "constant", IMAGE, mode="constant", pad_width=(0, 0, 0, 0, 1, 2, 0, 3), constant_value=1.5),
    case("Pad", "constant_default", IMAGE, mode="constant", pad_width=(0, 0, 0, 0, 1, 1, 2, 2)),
    case("Pad", "edge", IMAGE, mode="edge", pad_width=(0, 0, 0, 0, 1, 2, 3, 0)),
    case("Pad", "reflect", IMAGE, mode="reflect", pad_width=(0, 0, 0, 0, 1, 2, 3, 1)),
    case("Pad", "rank_5", data(1, 2, 3, 3, 3), mode="reflect", pad_width=(0, 0, 0, 0, 1, 1, 2, 0, 0, 1)),
    case("_rnn_param_concat", "vectors", *several((6,), (4,), (3,)), num_args=3, dim=0),
)

CASES: tuple[Case, ...] = (*MOVES, *PARTS)

REFUSED: tuple[Case, ...] = (
    case("Reshape", "1_then_-2", CUBE, shape=(1, -2)),
    case("Reshape", "0_past_the_end", CUBE, shape=(-1, 1, 0, 0)),
    case("Reshape", "size", CUBE, shape=(5, 5)),
    case("Reshape", "two_unknown", CUBE, shape=(-1, -1)),
    case("Reshape", "split", CUBE, shape=(0, -4, 2, 2, 0)),
    case("transpose", "negative", CUBE, axes=(0, -1, 1)),
    case("squeeze", "not_1", CUBE, axis=0),
    case("broadcast_to", "not_1", CUBE, shape=(2, 6, 4)),
    case("Concat", "sizes", *several((2, 3), (3, 4)), num_args=2),
    case("SliceChannel", "rest", data(2, 5), num_outputs=2),
    case("SliceChannel", "squeeze_3", data(2, 6), num_outputs=3, squeeze_axis=True),
    case("slice_axis", "end", CUBE, axis=1, begin=1, end=9),
    case("slice_axis", "begin", CUBE, axis=1, begin=3, end=4),
    case("Pad", "channels", IMAGE, mode="constant", pad_width=(0, 0, 1, 1, 0, 0, 0, 0)),
    case("depth_to_space", "channels", data(1, 6, 2, 2), block_size=2),
    case("space_to_depth", "size", data(1, 3, 3, 4), block_size=2),
    case("Crop", "size", *several((1, 2, 4, 4)), num_args=1, h_w=(5, 5)),
)
