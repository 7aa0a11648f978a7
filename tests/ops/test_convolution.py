"""Rules of convolutions."""

from __future__ import annotations

from graphir.ops.convolution import Conv, ConvTranspose, DeformConv
from graphir.padding import Explicit, Same, symmetric
from tests.ops.harness import backward, bad, good, macs
from tests.ops.late import late

GOOD = (
    (Conv((7, 7), (2, 2), padding=symmetric((3, 3))), "f[1,3,224,224] f[64,3,7,7] f[64]", "f[1,64,112,112]"),
    (Conv((7, 7), (2, 2), padding=symmetric((3, 3))), "f[N,3,H,W] f[64,3,7,7]", "f[N,64,(H+1)//2,(W+1)//2]"),
    (Conv((3,), padding=Same()), "f[N,2,L] f[4,2,3]", "f[N,4,L]"),
    (Conv((3, 3), dilations=(2, 2), group=2), "f[1,4,9,9] f[6,2,3,3]", "f[1,6,5,5]"),
    (Conv((3, 3), padding=Explicit(((0, 1), (1, 0)))), "f[1,4,9,9] f[6,4,3,3]", "f[1,6,8,8]"),
    (Conv((3, 3)), "f[...] f[6,4,3,3]", "f[?,6,?,?]"),
    (Conv((2, 2, 2)), "f[1,2,5,6,?] f[3,2,2,2,2]", "f[1,3,4,5,?]"),
    (ConvTranspose((4, 4), (2, 2), padding=symmetric((1, 1))), "f[N,3,H,W] f[3,8,4,4]", "f[N,8,2*H,2*W]"),
    (ConvTranspose((3,), (2,), output_padding=(1,)), "f[1,4,5] f[4,3,3]", "f[1,3,12]"),
    (ConvTranspose((3,), group=2), "f[1,4,5] f[4,3,3] f[6]", "f[1,6,7]"),
    (DeformConv((2, 2)), "f[N,3,H,5] f[4,3,2,2] f[N,8,?,4]", "f[N,4,H-1,4]"),
    (DeformConv(offset_group=2), "f[1,4,5,5] f[4,4,2,2] f[1,16,4,4] f[4] f[1,8,4,4]", "f[1,4,4,4]"),
    (DeformConv((2, 2)), "f[...] f[4,3,2,2] f[2,8,4,?] - f[...]", "f[2,4,4,?]"),
    (DeformConv(), "f[...] f[...] f[...]", "f[...]"),
)
test_results = good(GOOD)


BAD = (
    (Conv(), "f[2,8] f[4,8]", "W has the shape .4, 8., expected two axes of channels and at least one spatial axis"),
    (Conv((5, 5)), "f[1,2,3,3] f[4,2,5,5]", "no window fits: size 3, kernel 5"),
    (Conv((3, 3)), "f[1,2,5,5] f[4,3,3,3]", "X has 2 channels, but W .* takes 3"),
    (Conv((3, 3)), "f[1,2,5] f[4,2,3,3]", "expected 4 axes"),
    (Conv((3, 3), group=2), "f[1,3,5,5] f[4,1,3,3]", "in 2 group.s. takes 2"),
    (Conv((3, 3)), "f[1,2,5,5] f[4,2,3,3] f[3]", "4 and 3 differ"),
    (Conv((3, 3)), "f[1,2,5,5] f[4,2,5,5]", "expected the kernel"),
    (late(Conv, (3, 3), (1,)), "f[1,2,5,5] f[4,2,3,3]", "expected one entry for each of 2 spatial axes"),
    (ConvTranspose((3, 3)), "f[1,2,5,5] f[3,2,3,3]", "X has 2 channels, but W .* takes 3"),
    (DeformConv(), "f[1,3,5,5] f[4,2,2,2] f[1,8,4,4]", "X has 3 channels, but W .* takes 2"),
    (DeformConv(), "f[1,3,5,5] f[4,3,2,2] f[1,4,4,4]", "offset has the shape .*, expected .1, 8, 4, 4."),
    (DeformConv(), "f[1,3,5,5] f[4,3,2,2] f[1,8,4,4] - f[1,8,4,4]", "mask has the shape .*, expected .1, 4, 4, 4."),
    (DeformConv(), "f[1,3,5,5] f[4,3,2,2] d[1,8,4,4]", "float32 and float64 differ"),
)
test_refused = bad(BAD)


BACKWARD = (
    (Conv((3, 3)), "f[1,2,5,5] f[4,?,3,3] [...]", "f[1,4,3,3]", "f[1,2,5,5] f[4,2,3,3] f[4]"),
    (Conv((3, 3), group=2), "f[1,4,5,5] f[6,?,3,3]", "f[1,6,3,3]", "f[1,4,5,5] f[6,2,3,3]"),
    (Conv((3, 3)), "[...] f[4,2,3,3]", "f[N,4,3,3]", "f[N,2,5,5] f[4,2,3,3]"),
    (ConvTranspose((3, 3)), "f[1,2,5,5] f[?,4,3,3]", "f[1,4,7,7]", "f[1,2,5,5] f[2,4,3,3]"),
)
test_operands = backward(BACKWARD)


MACS = (
    (Conv((7, 7), (2, 2), padding=symmetric((3, 3))), "f[1,3,224,224] f[64,3,7,7]", 118013952),
    (Conv((3, 3), group=4), "f[1,4,5,5] f[4,1,3,3]", 324),
    (ConvTranspose((3,)), "f[1,4,5] f[4,3,3]", 180),
    (DeformConv(), "f[1,3,5,5] f[4,3,2,2] f[1,8,4,4]", 768),
)
test_macs = macs(MACS)
