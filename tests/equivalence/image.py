"""Cases of images that are put together of blocks, and of the correlation of two.

MXNet's col2im runs over two axes only."""

from __future__ import annotations

from tests.equivalence.case import Case, Input, case, data

ROWS: tuple[Case, ...] = (
    case("col2im", "default", data(2, 12, 12), output_size=(4, 5), kernel=(2, 2)),
    case("col2im", "stride", data(1, 18, 6), output_size=(6, 7), kernel=(2, 3), stride=(3, 2)),
    case("col2im", "pad_dilate", data(2, 12, 20), output_size=(5, 4), kernel=(3, 2), dilate=(1, 2), pad=(1, 1)),
    case("col2im", "double", data(1, 4, 20, dtype="float64"), output_size=(5, 6), kernel=(2, 2)),
)


def two(*shape: int, dtype: str = "float32") -> tuple[Input, ...]:
    """Two images of one shape."""
    return data(*shape, name="data1", dtype=dtype), data(*shape, name="data2", dtype=dtype)


CASES: tuple[Case, ...] = (
    *ROWS,
    case("im2col", "default", data(2, 3, 4, 5), kernel=(2, 3)),
    case("im2col", "stride", data(1, 2, 8, 7), kernel=(3, 2), stride=(2, 3)),
    case("im2col", "pad_dilate", data(2, 3, 5, 4), kernel=(3, 2), dilate=(2, 3), pad=(2, 1)),
    case("im2col", "one", data(2, 3, 4, 5, dtype="float64"), kernel=(1, 1), stride=(2, 2)),
    case("im2col", "half", data(1, 2, 6, 6, dtype="float16"), kernel=(3, 3), pad=(1, 1)),
    case("Correlation", "default", *two(1, 2, 5, 6)),
    case("Correlation", "same_place", *two(2, 3, 4, 5), max_displacement=0),
    case("Correlation", "kernel", *two(2, 3, 8, 9), kernel_size=3, max_displacement=2, stride1=2, pad_size=2),
    case("Correlation", "flownet", *two(1, 4, 9, 8), max_displacement=4, stride2=2, pad_size=4),
    case("Correlation", "differences", *two(1, 3, 6, 5), max_displacement=2, pad_size=3, is_multiply=False),
    case("Correlation", "rest", *two(1, 2, 11, 12), max_displacement=5, stride1=3, stride2=3, pad_size=4),
    case("Correlation", "odd", *two(1, 2, 12, 11), kernel_size=5, max_displacement=3, stride1=3, stride2=2, pad_size=1),
    case("Correlation", "double", *two(1, 2, 5, 6, dtype="float64")),
    case("Correlation", "half", *two(1, 2, 5, 6, dtype="float16")),
)

REFUSED: tuple[Case, ...] = (
    case("im2col", "integers", data(1, 2, 3, 3, dtype="int32"), kernel=(2, 2)),
    case("im2col", "three_axes", data(1, 2, 3, 3, 3), kernel=(2, 2, 2)),
    case("im2col", "too_small", data(1, 2, 3, 3), kernel=(4, 2)),
    case("Correlation", "even_kernel", *two(1, 2, 6, 6), kernel_size=2),
    case("Correlation", "integers", *two(1, 2, 6, 6, dtype="int32")),
    case("Correlation", "too_small", *two(1, 2, 4, 2)),
    case("col2im", "three_axes", data(1, 8, 27), output_size=(4, 4, 4), kernel=(2, 2, 2)),
)
