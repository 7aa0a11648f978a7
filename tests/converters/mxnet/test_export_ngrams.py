"""Counts of n-grams written for MXNet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from graphir.errors import UnsupportedOpError
from tests.converters.mxnet.exporting import (
    Live,
    Row,
    difference,
    expected_outputs,
    mxnet_outputs,
    read_again,
    row,
    written,
)

POOL = [2, 3, 5, 4, 5, 6, 7, 8, 6, 7]
LINE = np.array([1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8], np.int32)
TABLE = LINE.reshape(2, 6)


def grams(name: str, data: np.ndarray[Any, Any], mode: str = "TF", shortest: int = 1, longest: int = 2, skips: int = 0,
          **attributes: Any) -> Row:  # fmt: skip
    """A row with a pool of four single entries and three pairs."""
    stated = {"ngram_counts": [0, 4], "ngram_indexes": [0, 1, 2, 3, 4, 5, 6], "pool_int64s": POOL, **attributes}
    return row(name, "TfIdfVectorizer", data, mode=mode, min_gram_length=shortest, max_gram_length=longest,
               max_skip_count=skips, **stated)  # fmt: skip


WEIGHTS = [0.5, 2.0, 3.0, 0.25, 5.0, 7.0, 11.0]
TRIPLES = {"ngram_counts": [0, 0, 0], "ngram_indexes": [1, 0], "pool_int64s": [3, 3, 7, 7, 6, 5]}
ROWS = (
    grams("line", LINE),
    grams("table", TABLE),
    grams("pairs", LINE, shortest=2),
    grams("single", LINE, longest=1, skips=3),
    grams("skips", LINE, skips=3),
    grams("skips in a table", TABLE, skips=5, shortest=2),
    grams("int64", LINE.astype(np.int64), skips=1),
    grams("other places", TABLE, ngram_indexes=[6, 0, 4, 2, 1, 5, 3]),
    grams("weights there", LINE, "IDF", weights=WEIGHTS),
    grams("weights times", LINE, "TFIDF", skips=1, weights=WEIGHTS),
    grams("weights of other places", LINE, "TFIDF", weights=WEIGHTS, ngram_indexes=[6, 0, 4, 2, 1, 5, 3]),
    grams("triples", LINE, shortest=3, longest=3, skips=2, **TRIPLES),
    grams("longer than the data", LINE[:2], shortest=3, longest=3, **TRIPLES),
    grams("longer than the table", TABLE[:, :2], shortest=3, longest=3, **TRIPLES),
)


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    """Live MXNet for the module."""
    with Live() as found:
        yield found


@pytest.mark.live
@pytest.mark.parametrize("source", ROWS, ids=lambda source: source.name)
def test_live_mxnet_computes_the_same(source: Row, live: Live) -> None:
    _, text, params = written(source)
    found = mxnet_outputs(live, text, params, source.feeds())
    assert not difference(found, expected_outputs(source), source.tolerance)


@pytest.mark.parametrize("source", ROWS, ids=lambda source: source.name)
def test_what_is_written_is_read_the_same(source: Row) -> None:
    _, text, params = written(source)
    assert not difference(read_again(text, params, source.feeds()), expected_outputs(source), source.tolerance)


def test_texts_are_refused() -> None:
    source = grams("texts", np.array(["a", "b"]), pool_strings=["a", "b"], ngram_counts=[0], ngram_indexes=[0, 1])
    operands = {name: value for name, value in source.attributes.items() if name != "pool_int64s"}
    texts = Row("texts", source.op, source.operands, attributes=operands)
    with pytest.raises(UnsupportedOpError, match="no tensors of string"):
        written(texts)
