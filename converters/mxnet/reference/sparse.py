"""Operators on sparse arrays in numpy, of dense ones: MXNet's own fallback."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, require
from graphir.converters.mxnet.reference.elementwise import OPERATORS as ELEMENTWISE
from graphir.converters.mxnet.reference.indexing import OPERATORS as INDEXING


def cast_storage(attrs: Attributes, data: Array) -> Array:
    """The same elements; csr has two axes."""
    require(attrs["stype"] != "csr" or data.ndim == 2, f"rank {data.ndim} as csr")
    return np.array(data)


OPERATORS: Mapping[str, Reference] = {
    "_contrib_SparseEmbedding": INDEXING["Embedding"],
    "_scatter_elemwise_div": ELEMENTWISE["elemwise_div"],
    "_scatter_minus_scalar": ELEMENTWISE["_minus_scalar"],
    "_scatter_plus_scalar": ELEMENTWISE["_plus_scalar"],
    "cast_storage": cast_storage,
}

__all__ = ["OPERATORS"]
