"""Rules of the operators on signals and spectra."""

from __future__ import annotations

from graphir.ops.signal import DFT, STFT, BlackmanWindow, HammingWindow, HannWindow, MelWeightMatrix
from graphir.types import DType
from tests.ops.harness import bad, good
from tests.ops.rule import backwards, scalar

RATES = ("int64[]", "float32[]", "float32[]")

GOOD = (
    (HannWindow(), (scalar(10),), "float32[10]"),
    (HammingWindow(DType.FLOAT64), (scalar("N"),), "float64[N]"),
    (BlackmanWindow(periodic=False), ("int32[]",), "float32[?]"),
    (MelWeightMatrix(), (scalar(8), scalar(16), *RATES), "float32[9, 8]"),
    (MelWeightMatrix(), ("int64[]", scalar("N"), *RATES), "float32[N//2+1, ?]"),
    (DFT(), ("float32[N,10,1]",), "float32[N, 10, 2]"),
    (DFT(onesided=True), ("float32[N,10,1]", None, scalar(1)), "float32[N, 6, 2]"),
    (DFT(onesided=True), ("float32[N,10,4,1]", scalar(16), scalar(1)), "float32[N, 9, 4, 2]"),
    (DFT(), ("float32[N,10,4,2]", "int64[]", scalar(-3)), "float32[N, ?, 4, 2]"),
    (DFT(inverse=True, onesided=True), ("float32[N,6,2]",), "float32[N, 10, 1]"),
    (DFT(inverse=True, onesided=True), ("float32[N,6,2]", scalar(11)), "float32[N, 11, 1]"),
    (DFT(), ("float32[N,10,1]", None, "int64[]"), "float32[N, 10, 2]"),
    (DFT(onesided=True), ("float32[N,10,1]", None, "int64[]"), "float32[?, ?, 2]"),
    (DFT(), ("float64[...]",), "float64[...]"),
    (STFT(), ("float32[N,128,1]", scalar(8), None, scalar(16)), "float32[N, 15, 9, 2]"),
    (STFT(onesided=False), ("float32[N,128,2]", scalar(8), "float32[16]"), "float32[N, 15, 16, 2]"),
    (STFT(), ("float32[1,L,1]", scalar(8), "float32[16]"), "float32[1, max(0,L//8-1), 9, 2]"),
    (STFT(), ("float32[1,L,1]", "int64[]", "float32[16]"), "float32[1, ?, 9, 2]"),
    (STFT(), ("float32[...]", scalar(8), "float32[16]"), "float32[?, ?, 9, 2]"),
)

BAD = (
    (BlackmanWindow(), ("int64[2]",), "expected a scalar"),
    (HammingWindow(), ("int64[2]",), "expected a scalar"),
    (MelWeightMatrix(), (scalar(8), "int64[2]", *RATES), "dft_length has the shape .2., expected one element"),
    (HannWindow(), (scalar(-1),), "a window of -1"),
    (DFT(), ("float32[10]",), "at least 2 axes"),
    (DFT(), ("float32[10,3]",), "expected 1 .real. or 2"),
    (DFT(), ("float32[4,10,1]", None, scalar(2)), "real and imaginary part"),
    (DFT(), ("float32[4,10,1]", None, scalar(7)), "axis 7 does not exist"),
    (STFT(), ("float32[10,1]", scalar(1)), "expected 3 axes"),
    (STFT(), ("float32[1,10,1]", scalar(0)), "frame_step of 0"),
)
test_results = good(GOOD)
test_refused = bad(BAD)


def test_transforms_infer_backwards() -> None:
    assert backwards(DFT(), ("?[2,3,1]",), ("float64[2,3,2]",)) == ["float64[2, 3, 1]"]
    found = backwards(STFT(), ("?[...]", "int64[]", "?[8]"), ("float32[N,4,5,2]",))
    assert found == ["float32[N, ?, ?]", "int64[]", "float32[8]"]
