"""Cases of images that are put together of blocks. MXNet's col2im runs over two axes only."""

from __future__ import annotations

from dataclasses import replace

from tests.equivalence.case import Case, case, data

ROWS: tuple[Case, ...] = (
    case("col2im", "default", data(2, 12, 12), output_size=(4, 5), kernel=(2, 2)),
    case("col2im", "stride", data(1, 18, 6), output_size=(6, 7), kernel=(2, 3), stride=(3, 2)),
    case("col2im", "pad_dilate", data(2, 12, 20), output_size=(5, 4), kernel=(3, 2), dilate=(1, 2), pad=(1, 1)),
    case("col2im", "double", data(1, 4, 20, dtype="float64"), output_size=(5, 6), kernel=(2, 2)),
)
CASES: tuple[Case, ...] = tuple(replace(row, least_opset=18) for row in ROWS)

REFUSED: tuple[Case, ...] = (
    case("col2im", "three_axes", data(1, 8, 27), output_size=(4, 4, 4), kernel=(2, 2, 2)),
)
