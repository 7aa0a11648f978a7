"""Convolutions and transposed ones of one to three axes, against onnxruntime; deformed ones stand in test_detection."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphir.ops.convolution import Conv, ConvTranspose
from graphir.padding import Explicit, Same, SameMode
from tests.converters.pytorch.cases import Case, Check, Constant, uniform

X, LINE, VOLUME = uniform(2, 4, 7, 6), uniform(3, 4, 9), uniform(1, 2, 4, 5, 3)
BIAS = Constant(uniform(6, seed=9))
BESIDE, AROUND = Explicit(((0, 1), (2, 0))), Explicit(((1, 1), (2, 2)))
LOWER = Same(SameMode.LOWER)


def filters(*shape: int, dtype: str = "float32") -> Constant:
    return Constant(uniform(*shape, low=-1, high=1, dtype=dtype, seed=1))


def given(constant: Constant) -> Any:
    """The same as an input of the graph."""
    return constant.elements


W, GROUPED, BACK = filters(6, 4, 3, 2), filters(6, 2, 3, 3), filters(4, 6, 3, 2)
CONVOLUTIONS = [
    Case(Conv(), X, W, BIAS, batch=True, text="self.y = nn.Conv2d(4, 6, (3, 2))"),
    Case(Conv((3, 2), (2, 1), padding=AROUND), X, W, text="padding=(1, 2)"),
    Case(Conv((3, 2), (2, 3), (2, 2), BESIDE), X, W, BIAS, batch=True, text="F.pad(x, (2, 0, 0, 1))"),
    Case(Conv((3, 3), group=2), X, GROUPED, BIAS, text="groups=2)"),
    Case(Conv((3, 3), (2, 2), padding=Same(), group=4), X, filters(4, 1, 3, 3), batch=True),
    Case(Conv((3, 2), (2, 2), padding=LOWER), X, W, BIAS),
    Case(Conv((3, 2)), X, given(W), given(BIAS), batch=True, text="F.conv2d(in0, in1, bias=in2)"),
    Case(Conv((3, 2)), X, given(W), BIAS, text="F.conv2d(in0, in1, bias=self.c)"),
    Case(Conv((4,), (3,), padding=Explicit(((2, 1),))), LINE, filters(5, 4, 4), batch=True, text="nn.Conv1d(4, 5, 4, "),
    Case(Conv((2, 3, 1), (1, 2, 2), padding=Explicit(((1, 1), (0, 0), (0, 0)))), VOLUME, filters(3, 2, 2, 3, 1)),
    Case(Conv((1, 1)), X.astype(np.float16), filters(6, 4, 1, 1, dtype="float16"), text="dtype=torch.float16)"),
]
TRANSPOSED = [
    Case(ConvTranspose(), X, BACK, BIAS, batch=True, text="self.y = nn.ConvTranspose2d(4, 6, (3, 2))"),
    Case(ConvTranspose((3, 2), (2, 3), padding=AROUND), X, BACK, text="padding=(1, 2),"),
    Case(ConvTranspose((3, 2), (2, 2), padding=BESIDE), X, BACK, BIAS, batch=True, text="F.pad("),
    Case(ConvTranspose((3, 2), (3, 2), (2, 1), output_padding=(1, 1)), X, BACK, BIAS, text="output_padding=1"),
    Case(ConvTranspose((3, 2), (2, 2), output_shape=(15, 11)), X, BACK),
    Case(ConvTranspose((3, 2), (2, 2), padding=Same()), X, BACK, BIAS),
    Case(ConvTranspose((3, 2), (2, 2), padding=LOWER), X, BACK, BIAS, batch=True),
    Case(ConvTranspose((2, 2), (2, 2), group=2), X, filters(4, 3, 2, 2), BIAS, text="groups=2)"),
    Case(ConvTranspose((3, 2)), X, given(BACK), given(BIAS), batch=True, text="F.conv_transpose2d(in0, in1, bias=in2)"),
    Case(ConvTranspose((4,), (2,), padding=Explicit(((1, 1),))), LINE, filters(4, 5, 4), text="nn.ConvTranspose1d("),
    Case(ConvTranspose((2, 3, 1), (1, 2, 2)), VOLUME, filters(2, 3, 2, 3, 1), batch=True),
]  # fmt: skip


@pytest.mark.parametrize("case", [*CONVOLUTIONS, *TRANSPOSED], ids=str)
def test_numbers_and_text(case: Case, check: Check) -> None:
    check(case)
