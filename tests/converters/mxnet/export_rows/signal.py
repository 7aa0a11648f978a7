"""Windows, filters and Fourier transforms written for MXNet."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.converters.mxnet.exporting import Row, row
from tests.typed import untyped

RANDOM = np.random.default_rng(23)


def normal(*shape: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    """Numbers of a normal distribution."""
    return RANDOM.standard_normal(shape).astype(dtype)


WINDOWS = tuple(
    row(f"{size} {attributes}", f"{kind}Window", np.int64(size), tolerance=1e-7, **untyped(attributes))
    for kind in ("Hann", "Hamming", "Blackman")
    for size, attributes in ((10, {}), (9, {"periodic": 0}), (7, {"output_datatype": 11}))
)
MEL = (
    row("mel", "MelWeightMatrix", np.int64(8), np.int64(16), np.int64(8192), np.float32(0), np.float32(4096)),
    row("mel 40", "MelWeightMatrix", np.int64(40), np.int64(512), np.int64(16000), np.float32(50), np.float32(7600)),
)
AXIS, LAST = np.int64(1), np.int64(-2)
DFT = (
    row("real", "DFT", normal(2, 9, 1), opset=20, wanted=("Reshape", "dot", "Reshape")),
    row("complex", "DFT", normal(2, 8, 2), opset=20),
    row("axis", "DFT", normal(2, 8, 5, 2), None, AXIS, opset=20),
    row("first axis", "DFT", normal(6, 3, 1), None, np.int64(0), opset=20),
    row("longer", "DFT", normal(2, 7, 1), np.int64(10), LAST, opset=20),
    row("shorter", "DFT", normal(2, 7, 2), np.int64(4), LAST, opset=20),
    row("onesided", "DFT", normal(2, 7, 1), onesided=1, opset=20),
    row("onesided, even", "DFT", normal(2, 8, 3, 1), None, AXIS, onesided=1, opset=20),
    row("onesided, longer", "DFT", normal(2, 7, 1), np.int64(12), onesided=1, opset=20),
    row("inverse", "DFT", normal(2, 7, 2), inverse=1, opset=20),
    row("inverse, shorter", "DFT", normal(2, 7, 2), np.int64(5), inverse=1, opset=20),
    row("inverse of real", "DFT", normal(2, 6, 1), inverse=1, opset=20),
    row("float64", "DFT", normal(2, 6, 2, dtype="float64"), opset=20),
    row("matrix alone", "DFT", normal(6, 2), None, np.int64(0), opset=20),
    row("older", "DFT", normal(2, 6, 3, 2), axis=1, opset=17),
)
STFT = (
    row("real", "STFT", normal(2, 20, 1), np.int64(3), np.hanning(8).astype(np.float32), np.int64(8), constants=(2,)),
    row("no window", "STFT", normal(1, 20, 1), np.int64(4), None, np.int64(7)),
    row("given window", "STFT", normal(2, 20, 1), np.int64(4), normal(6)),
    row("both sides", "STFT", normal(2, 20, 1), np.int64(4), normal(6), onesided=0),
    row("complex", "STFT", normal(2, 20, 2), np.int64(5), normal(6), onesided=0),
)
ROWS = (*WINDOWS, *MEL, *DFT, *STFT)
REFUSED = (
    (Row("window", "HannWindow", {}, {"size": np.array(5)}), "made of Range: its bounds are computed"),
    (row("large", "DFT", normal(1, 20000, 1), opset=20), "its matrix has 20000 x 40000 elements"),
)
