"""Import functions of MXNet's operators, one file a family; what no network of a zoo has is in `importing.rare`."""

from __future__ import annotations

from functools import cache

from graphir.converters.mxnet.importing import rare
from graphir.converters.mxnet.importing.context import ImportFunction
from graphir.converters.mxnet.importing.ops.checks import checked
from graphir.ops.families import FamilyTable

# Those of common operators first: each is loaded when an operator is not found in those before it.
FAMILIES = (
    "convolution", "activation", "normalization", "pooling", "linear", "shape", "loss", "elementwise",
    "scalars", "shape_parts", "control", "creation", "detection", "image",
    "indexing", "numpy_elementwise", "numpy_creation", "numpy_shape",
    "numpy_products", "numpy_reduction", "numpy_style", "pooling_of_regions", "proposals", "quantized",
    "quantized_attention", "quantized_fused", "quantized_products", "recurrent", "reduction", "resize",
)  # fmt: skip


@cache
def import_table() -> FamilyTable[str, ImportFunction]:
    """Return the import function of every MXNet operator that can be imported, by canonical name."""
    families = [*(f"ops.{family}" for family in FAMILIES), *(f"rare.{family}" for family in rare.FAMILIES)]
    return FamilyTable("graphir.converters.mxnet.importing", families, "IMPORTS", convert=checked)
