"""Constants that an attribute alone makes large are refused before they are made, by import and reference alike."""

from __future__ import annotations

import tracemalloc

import pytest

from graphir.converters.mxnet import from_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.errors import GraphirError
from tests.equivalence.case import Case, case

LARGE = (
    case("_arange", "two_to_the_31", start=2147483648),
    case("_arange", "fine_steps", start=0, stop=1e6, step=1e-6),
    case("_arange", "repeated", start=0, stop=3, repeat=1000000000),
    case("_linspace", "large", start=0, stop=1, num=1000000000),
    case("_eye", "large", N=100000),
)


@pytest.mark.parametrize("row", LARGE, ids=lambda row: row.name)
def test_it_is_refused_before_it_is_made(row: Case) -> None:
    tracemalloc.start()
    with pytest.raises(GraphirError, match="elements"):
        from_symbol(row.symbol_json())
    with pytest.raises(GraphirError, match="elements"):
        evaluate(read_symbol(row.symbol_json()), {})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50_000_000
