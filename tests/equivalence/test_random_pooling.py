"""Poolings of random kernels, strides, pads and conventions: live MXNet, the reference and the ONNX that is written.

Windows that hold no data at all are common among them. `GRAPHIR_RANDOM_POOLINGS` says how many there are.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import to_model
from tests.equivalence.case import Case, case, data
from tests.equivalence.live import Live
from tests.equivalence.test_onnx import TOLERANCE, distance, imported, run_model
from tests.requirements import needing

COUNT = int(os.environ.get("GRAPHIR_RANDOM_POOLINGS", "80"))


def drawn(number: int) -> Case:
    """One pooling whose first window fits."""
    source = random.Random(number)
    op = source.choice(("Pooling", "Pooling", "Pooling", "Pooling_v1"))
    rank = 2 if op == "Pooling_v1" else source.choice((1, 2, 2, 3))
    kernel = tuple(source.randint(1, 4) for _ in range(rank))
    pad = tuple(source.randrange(width) for width in kernel)
    sizes = [source.randint(max(1, width - 2 * more), 7) for width, more in zip(kernel, pad, strict=True)]
    attrs: dict[str, Any] = {"pool_type": source.choice(("avg", "avg", "avg", "max", "sum"))}
    if op == "Pooling" and attrs["pool_type"] == "avg":
        attrs["count_include_pad"] = source.random() < 0.4
    attrs["pooling_convention"] = source.choice(("full", "full", "valid"))
    strides = tuple(source.randint(1, 5) for _ in kernel)
    return case(op, str(number), data(1, 2, *sizes), kernel=kernel, stride=strides, pad=pad, **attrs)


@pytest.mark.live
@pytest.mark.parametrize("row", [drawn(number) for number in range(COUNT)], ids=lambda row: row.name)
def test_random_pooling(row: Case, live: Live) -> None:
    with needing("MXNet"):
        (expected,) = live.run(row.symbol_json(), row.arrays()).values()
    (reference,) = evaluate(read_symbol(row.symbol_json()), row.arrays()).values()
    graph, feeds = imported(row)
    (found,) = run_model(to_model(graph, opset=17), feeds)
    assert found.shape == reference.shape == expected.shape
    assert distance(reference, expected) <= TOLERANCE[str(expected.dtype)]
    assert distance(found, expected) <= TOLERANCE[str(expected.dtype)]
