"""Rules of pooling."""

from __future__ import annotations

from graphir.ops.pooling import (
    AveragePool,
    GlobalAveragePool,
    GlobalLpPool,
    GlobalMaxPool,
    LpPool,
    MaxPool,
    MaxRoiPool,
    MaxUnpool,
)
from graphir.padding import Explicit, Same
from tests.ops.harness import backward, bad, good
from tests.ops.late import late

PADDED = Explicit(((1, 1), (1, 1)))
GOOD = (
    (MaxPool((3, 3), (2, 2), padding=PADDED), "f[1,64,112,112]", "f[1,64,56,56] i[1,64,56,56]"),
    (MaxPool((2,), (2,)), "f[N,C,7]", "f[N,C,3] i[N,C,3]"),
    (MaxPool((2,), (2,), ceil_mode=True), "f[N,C,7]", "f[N,C,4] i[N,C,4]"),
    (MaxPool((2, 2)), "f[...]", "f[?,?,?,?] i[?,?,?,?]"),
    (AveragePool((3, 3), (2, 2), padding=PADDED), "f[N,3,H,W]", "f[N,3,(H+1)//2,(W+1)//2]"),
    (AveragePool((3, 3), (2, 2), padding=Same()), "f[N,3,7,W]", "f[N,3,4,(W+1)//2]"),
    (AveragePool((3,), dilations=(2,)), "f[1,1,9]", "f[1,1,5]"),
    (LpPool((2, 2, 2)), "f[1,2,5,6,?]", "f[1,2,4,5,?]"),
    (GlobalAveragePool(), "f[N,3,H,W]", "f[N,3,1,1]"),
    (GlobalMaxPool(), "f[N,3,9]", "f[N,3,1]"),
    (GlobalLpPool(), "f[...]", "f[...]"),
    (MaxRoiPool((7, 7), 0.0625), "f[N,512,H,W] f[R,5]", "f[R,512,7,7]"),
    (MaxRoiPool((7, 5)), "f[...] f[...]", "f[?,?,7,5]"),
    (MaxUnpool((2, 2), (2, 2)), "f[N,3,H,4] i[N,3,?,4]", "f[N,3,2*H,8]"),
    (MaxUnpool((3, 3), (2, 2), PADDED), "f[1,3,4,4] i[1,3,4,4]", "f[1,3,7,7]"),
    (MaxUnpool((2, 2), (2, 2)), "f[1,3,4,4] i[1,3,4,4] i:1,3,9,W", "f[1,3,9,W]"),
    (MaxUnpool((2, 2), (2, 2)), "f[1,3,4,4] i[1,3,4,4] i[4]", "f[?,?,?,?]"),
    (MaxUnpool((2, 2)), "f[...] i[...]", "f[?,?,?,?]"),
)
test_results = good(GOOD)


BAD = (
    (GlobalAveragePool(), "f[1,2]", "expected at least 3 axes"),
    (GlobalLpPool(), "f[1,2]", "expected at least 3 axes"),
    (LpPool((5, 5)), "f[1,2,3,3]", "no window fits on spatial axis 0"),
    (MaxPool((5, 5)), "f[1,2,3,3]", "no window fits on spatial axis 0: size 3, kernel 5"),
    (MaxPool((2, 2)), "f[1,2,3]", "expected 4 axes for the kernel"),
    (late(AveragePool, (2, 2), (1,)), "f[1,2,3,3]", "one entry for each of 2 spatial axes"),
    (GlobalMaxPool(), "f[1,2]", "expected at least 3 axes"),
    (MaxRoiPool((7, 7)), "f[1,2,8,8] f[3,4]", "expected 5 columns"),
    (late(MaxRoiPool, (7,)), "f[1,2,8,8] f[3,5]", "expected two sizes of 1 or more"),
    (MaxUnpool((2, 2)), "f[1,2,8,8] f[1,2,8,8]", "I is float32"),
    (MaxUnpool((2, 2)), "f[1,2,8] i[1,2,8]", "expected 4 axes"),
    (MaxUnpool((2, 2)), "f[1,2,8,8] i[1,2,8,7]", "contradict"),
    (MaxUnpool((2, 2)), "f[1,2,8,8] i[1,2,8,8] i:9,9", "output_shape has 2 entries"),
    (late(MaxUnpool, (2, 2), (1,)), "f[1,2,8,8] i[1,2,8,8]", "one entry for each of 2 spatial axes"),
)
test_refused = bad(BAD)


BACKWARD = (
    (MaxPool((2, 2)), "[...]", "f[N,3,4,4] i[N,3,4,4]", "f[N,3,5,5]"),
    (GlobalAveragePool(), "f[...]", "f[N,3,1,1]", "f[N,3,?,?]"),
    (MaxRoiPool((7, 7)), "f[...] [...]", "f[R,8,7,7]", "f[?,8,?,?] f[R,5]"),
    (MaxUnpool((2,)), "[...] i[1,2,8]", "f[1,2,9]", "f[1,2,8] i[1,2,8]"),
)
test_operands = backward(BACKWARD)
