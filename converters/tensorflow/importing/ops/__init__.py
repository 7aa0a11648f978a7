"""Import from TensorFlow, one file a family, with the same names as in `graphir.ops`."""

from __future__ import annotations

from functools import cache

from graphir.converters.kernel.importing import families
from graphir.converters.tensorflow.importing.context import ImportFunction

FAMILIES = (
    "activation",
    "bitwise",
    "blocks",
    "control",
    "convolution",
    "creation",
    "detection",
    "diagonal",
    "elementwise",
    "elementwise_unary",
    "image",
    "indexing",
    "linear",
    "losses",
    "normalization",
    "pooling",
    "quantization",
    "random",
    "recurrent",
    "reduction",
    "resize",
    "sequence",
    "shape",
    "shape_parts",
    "signal",
    "slicing",
    "text",
)


@cache
def import_table() -> dict[str, ImportFunction]:
    """The import function of every TensorFlow operator that can be imported."""
    return families(__name__, FAMILIES)


@cache
def pair_table() -> dict[str, ImportFunction]:
    """The import function of every TensorFlow operator that can have complex operands."""
    return families(__name__, ["signal"], "ON_PAIRS")


__all__ = ["FAMILIES", "import_table", "pair_table"]
