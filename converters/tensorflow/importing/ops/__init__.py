"""Import from TensorFlow, one file a family, with the same names as in `graphir.ops`."""

from __future__ import annotations

from functools import cache

from graphir.converters.tensorflow.importing.context import ImportFunction
from graphir.ops.families import FamilyTable

# Those of common operators first: each is imported when an operator is not found in those before it.
FAMILIES = (
    "activation",
    "convolution",
    "elementwise",
    "linear",
    "normalization",
    "pooling",
    "shape",
    "shape_parts",
    "creation",
    "elementwise_unary",
    "reduction",
    "slicing",
    "bitwise",
    "blocks",
    "control",
    "detection",
    "diagonal",
    "factorization",
    "image",
    "indexing",
    "losses",
    "quantization",
    "random",
    "recurrent",
    "resize",
    "sequence",
    "signal",
    "text",
)


@cache
def import_table() -> FamilyTable[str, ImportFunction]:
    """Return the import function of every TensorFlow operator that can be imported."""
    return FamilyTable(__name__, FAMILIES, "IMPORTS")


@cache
def pair_table() -> FamilyTable[str, ImportFunction]:
    """Return the import function of every TensorFlow operator that can have complex operands."""
    return FamilyTable(__name__, ["signal"], "ON_PAIRS")


__all__ = ["FAMILIES", "import_table", "pair_table"]
