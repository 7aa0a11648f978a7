"""Rules of the operators on images."""

from __future__ import annotations

from graphir.ops.image import CenterCropPad, Col2Im, ImageDecoder, PixelFormat
from graphir.padding import Explicit
from tests.ops.harness import bad, good
from tests.ops.rule import backwards, known

PADDED = Col2Im(padding=Explicit(((0, 1), (0, 1))))

GOOD = (
    (ImageDecoder(), ("uint8[N]",), "uint8[new:height, new:width, 3]"),
    (ImageDecoder(PixelFormat.GRAYSCALE), ("?[...]",), "uint8[new:height, new:width, 1]"),
    (CenterCropPad(), ("float32[20,N]", known(10, 8)), "float32[10, 8]"),
    (CenterCropPad((-1,)), ("float32[N,20]", known("W")), "float32[N, W]"),
    (CenterCropPad((1, 2)), ("float32[N,20,8]", "int64[2]"), "float32[N, ?, ?]"),
    (CenterCropPad(), ("float32[...]", known(10)), "float32[...]"),
    (Col2Im(), ("float32[N,5,5]", known(5, 5), known(1, 5)), "float32[N, 1, 5, 5]"),
    (PADDED, ("float32[1,8,25]", known(5, 5), known(2, 2)), "float32[1, 2, 5, 5]"),
    (Col2Im(), ("float32[1,C,?]", known("H", "W"), known(2, 2)), "float32[1, C//4, H, W]"),
    (Col2Im(), ("float32[1,8,16]", known(5, 5), "int64[?]"), "float32[1, ?, 5, 5]"),
    (Col2Im(), ("float32[1,8,16]", "int64[2]", "int64[2]"), "float32[1, ?, ?, ?]"),
    (Col2Im(), ("float32[1,8,16]", "int64[?]", known(2, 2)), "float32[...]"),
)

BAD = (
    (ImageDecoder(), ("float32[N]",), "encoded_stream is float32"),
    (ImageDecoder(), ("uint8[2,2]",), "expected 1 axes"),
    (CenterCropPad(), ("float32[20,4]", known(10)), "shape has 1 entries"),
    (CenterCropPad((2,)), ("float32[20,4]", known(10)), "axis 2 does not exist"),
    (Col2Im(), ("float32[5,5]", known(5, 5), known(1, 5)), "expected 3 axes"),
    (Col2Im(), ("float32[1,5,5]", known(5, 5), known(5)), "2 entries and block_shape 1"),
    (Col2Im(), ("float32[1,6,5]", known(5, 5), known(1, 5)), "6 rows"),
    (Col2Im(), ("float32[1,5,6]", known(5, 5), known(1, 5)), "6 blocks"),
    (Col2Im(strides=(1,)), ("float32[1,5,5]", known(5, 5), known(1, 5)), "must each have 2 entries"),
)
test_results = good(GOOD)
test_refused = bad(BAD)


def test_infers_backwards() -> None:
    assert backwards(Col2Im(), ("?[...]", "int64[2]", "int64[2]"), ("float32[2,3,5,5]",))[0] == "float32[2, ?, ?]"
    assert backwards(CenterCropPad(), ("?[4]", "int64[1]"), ("float32[2]",))[0] == "float32[4]"
