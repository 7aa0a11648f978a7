"""Spectra of signals in torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphir.errors import UnsupportedOpError
from graphir.ops import signal as ir
from graphir.ops.foreign import Foreign
from graphir.ops.text import StringConcat
from graphir.types import DType
from tests.converters.pytorch.cases import Case, Check, Constant, uniform
from tests.converters.pytorch.running import run_module


def i64(number: int) -> Constant:
    return Constant(np.array(number, np.int64))


REAL, COMPLEX = uniform(2, 7, 1), uniform(2, 7, 2)
CLOSE = 1e-4
SPECTRUM = np.stack([uniform(2, 5), uniform(2, 5, seed=1) * [0, 1, 1, 1, 0]], -1).astype(np.float32)
WINDOW: Any = np.hanning(6).astype(np.float32)
SOUND = uniform(2, 33, 1)


def frames(step: int, window: Any, size: int) -> Any:
    """The spectra of a signal's windows."""
    parts = [SOUND[:, place : place + size, 0] * window for place in range(0, 33 - size + 1, step)]
    found = np.fft.fft(np.stack(parts, 1))
    return np.stack([found.real, found.imag], -1).astype(np.float32)


CASES = [
    Case(ir.DFT(), REAL, tolerance=CLOSE, text="torch.view_as_real(torch.fft.fft(x.squeeze(-1)))"),
    Case(ir.DFT(), COMPLEX, batch=True, tolerance=CLOSE, text="torch.view_as_complex("),
    Case(ir.DFT(), uniform(2, 7, 3, 2), None, i64(1), batch=True, tolerance=CLOSE, text="dim=-2"),
    Case(ir.DFT(), uniform(4, 3, 1), i64(9), i64(0), tolerance=CLOSE),
    Case(ir.DFT(), COMPLEX, i64(4), tolerance=CLOSE),
    Case(ir.DFT(), uniform(2, 6, 1, dtype="float64"), np.array(5), np.array(-2), tolerance=CLOSE),
    Case(ir.DFT(onesided=True), REAL, batch=True, tolerance=CLOSE, text="torch.fft.rfft("),
    Case(ir.DFT(onesided=True), uniform(2, 8, 3, 1), i64(6), i64(1), tolerance=CLOSE),
    Case(ir.DFT(inverse=True), COMPLEX, batch=True, tolerance=CLOSE, text="torch.fft.ifft("),
    Case(ir.DFT(inverse=True), REAL, i64(10), tolerance=CLOSE),
    Case(ir.DFT(inverse=True, onesided=True), SPECTRUM, tolerance=CLOSE,
         expected=[np.fft.irfft(SPECTRUM[..., 0] + 1j * SPECTRUM[..., 1])[..., None].astype(np.float32)]),
    Case(ir.STFT(), SOUND, i64(3), Constant(WINDOW), i64(6), tolerance=CLOSE,
         expected=[frames(3, WINDOW, 6)[:, :, :4]]),
    Case(ir.STFT(onesided=False), SOUND, i64(4), WINDOW, None, tolerance=CLOSE, expected=[frames(4, WINDOW, 6)]),
    Case(ir.STFT(), SOUND, np.array(5), None, i64(7), batch=True, tolerance=CLOSE, text="torch.fft.rfft(frames)",
         expected=[frames(5, 1, 7)[:, :, :4]]),
    Case(ir.MelWeightMatrix(DType.FLOAT64), np.array(8), np.array(16), np.array(8192), np.float32(0), np.float32(4096),
         batch=True),
    *(Case(ir.MelWeightMatrix(), np.array(bins), np.array(length), np.array(rate), np.float32(0), np.float32(top))
      for bins, length, rate, top in ((8, 16, 8192, 4096), (5, 33, 8000, 3000), (20, 16, 8000, 4000))),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_numbers_and_text(case: Case, check: Check) -> None:
    check(case)


def test_unknown_operators_are_refused_by_name() -> None:
    case = Case(Foreign(foreign_domain="my.own", operator_name="Blur"), uniform(3))
    with pytest.raises(UnsupportedOpError, match=r"Blur of the domain my\.own has no known meaning in PyTorch"):
        run_module(case.graph(), [uniform(3)])


def test_texts_are_refused() -> None:
    case = Case(StringConcat(), np.array(["a"], object), np.array(["b"], object))
    with pytest.raises(UnsupportedOpError, match="string"):
        run_module(case.graph(), [])
