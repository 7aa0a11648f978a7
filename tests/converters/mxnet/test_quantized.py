"""What MXNet loses in quantized operators, and what follows from it here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.converters.onnx import to_model
from graphir.errors import UnsupportedOpError
from tests.equivalence.case import Case, case
from tests.equivalence.quantized import PAIR, signed, unsigned
from tests.equivalence.quantized_fused import (
    ATTENTION,
    JOINED,
    JOINED_BYTES,
    JOINED_SPAN,
    POSITIVE,
    ROWS_OF_BYTES,
    TANH,
    attention,
    convolution,
    dense,
)
from tests.equivalence.test_onnx import imported, run_model

QK = attention("selfatt_qk", "other_heads", JOINED)
VALATT = attention("selfatt_valatt", "other_heads", JOINED, ATTENTION)
REFUSED = (
    *((replace(row, attrs={**row.attrs, "heads": "4"}), "2 in the symbol inside") for row in (QK, VALATT)),
    (convolution("tanh", POSITIVE, act=TANH, calibrated=(-1.0, 1.0)), "as if they were real ones"),
    (convolution("clip", POSITIVE, act=("clip", {"a_min": "-1", "a_max": "6"}), calibrated=(-1.0, 1.0)), "from 0 on"),
    (attention("selfatt_qk", "int32", JOINED_BYTES, *JOINED_SPAN), "the range 0"),
    (dense("both", ROWS_OF_BYTES, floats=True, calibrated=(-1.0, 1.0)), "scales by both"),
    (
        case(
            "_contrib_quantized_elemwise_add", "unlike", unsigned(3, 4, name="lhs"), signed(3, 4, name="rhs"), *PAIR
        ),
        "without a calibrated range",
    ),
)


@pytest.mark.parametrize("row, reason", REFUSED, ids=lambda value: value.name if isinstance(value, Case) else "")
def test_what_mxnet_loses_is_refused(row: Case, reason: str) -> None:
    with pytest.raises(UnsupportedOpError, match=reason):
        imported(row)


def test_of_data_that_are_all_zero_the_bias_is_left() -> None:
    row = convolution("zeros", POSITIVE, span=(0.0, 0.0), calibrated=(-4.0, 4.0))
    graph, feeds = imported(row)
    zeros: dict[str, NDArray[np.generic]] = {name: np.zeros_like(array) for name, array in feeds.items()}
    found = run_model(to_model(graph, opset=17), zeros)[0]
    bias = row.arrays()[row.variable(row.inputs[2])]
    expected = np.rint(bias * 127.5 / 4).reshape(1, -1, 1, 1)
    assert np.abs(found - expected).max() <= 1
