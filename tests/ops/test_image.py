"""Rules of the operators on images."""

from __future__ import annotations

from graphir.ops.image import CenterCropPad, Col2Im, Correlation, ImageDecoder, PixelFormat
from graphir.padding import Explicit
from tests.ops.harness import backward, bad, good, macs
from tests.ops.late import late
from tests.ops.rule import known

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
    (Correlation(), "f[2,3,5,6] f[2,3,5,6]", "f[2,9,3,4]"),
    (Correlation(), "f[N,C,H,6] [...]", "f[N,9,H-2,4]"),
    (Correlation(3, 2, 2, pad=2), "h[2,3,8,9] h[?,?,?,?]", "h[2,25,3,4]"),
    (Correlation(1, 20, 1, 2, 20), "f[1,256,48,64] f[1,256,48,64]", "f[1,441,48,64]"),
    (Correlation(max_displacement=0), "f[...] f[...]", "f[?,1,?,?]"),
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
    (late(Correlation, 2), "f[1,2,6,6] f[1,2,6,6]", "kernel_size is 2, expected an odd number"),
    (late(Correlation, stride=0), "f[1,2,6,6] f[1,2,6,6]", "stride is 0, expected 1 or more"),
    (Correlation(), "f[1,2,6,6] f[1,2,6,7]", "6 and 7 differ"),
    (Correlation(), "f[2,6,6] f[2,6,6]", "expected 4 axes"),
    (Correlation(), "f[1,2,2,6] f[1,2,2,6]", "no patch of 1 shifted by 1 fits in the size 2"),
    (Correlation(), "f[1,2,6,6] d[1,2,6,6]", "dtypes float32 and float64 differ"),
    (Correlation(), "i[1,2,6,6] i[1,2,6,6]", "A is int64"),
    (Col2Im(strides=(1,)), ("float32[1,5,5]", known(5, 5), known(1, 5)), "must each have 2 entries"),
)
test_results = good(GOOD)
test_refused = bad(BAD)

BACKWARD = (
    (Col2Im(), "?[...] i[2] i[2]", "f[2,3,5,5]", "f[2,?,?] i[2] i[2]"),
    (CenterCropPad(), "?[4] i[1]", "f[2]", "f[4] i[1]"),
    (Correlation(3, 2, pad=1), "[...] [?,3,?,?]", "f[2,25,4,5]", "f[2,3,8,9] f[2,3,8,9]"),
    (Correlation(stride=2), "[...] [...]", "f[2,9,4,5]", "f[2,?,?,?] f[2,?,?,?]"),
)
test_operands = backward(BACKWARD)

MACS = ((Correlation(3, 2, 2, pad=2), "f[2,3,8,9] f[2,3,8,9]", 2 * 25 * 3 * 4 * 3 * 9),)
test_macs = macs(MACS)
