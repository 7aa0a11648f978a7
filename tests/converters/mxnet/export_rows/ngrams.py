"""Counts of n-grams written for MXNet."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.converters.mxnet.exporting import Row, row

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
TRIPLES: dict[str, Any] = {"ngram_counts": [0, 0, 0], "ngram_indexes": [1, 0], "pool_int64s": [3, 3, 7, 7, 6, 5]}
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
TEXTS = {"pool_strings": ["a", "b"], "ngram_counts": [0], "ngram_indexes": [0, 1], "mode": "TF", "min_gram_length": 1,
         "max_gram_length": 2, "max_skip_count": 0}  # fmt: skip
REFUSED = ((Row("texts", "TfIdfVectorizer", TEXTS, {"x0": np.array(["a", "b"])}), "no tensors of string"),)
