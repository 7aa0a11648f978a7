"""Import from and export to MXNet, one file a family, with the same names as in `graphir.ops`."""

from __future__ import annotations

from functools import cache

from graphir.converters.mxnet.importing.context import ImportFunction
from graphir.converters.mxnet.importing.ops.checks import checked
from graphir.ops.families import FamilyTable

# Those of common operators first: each is imported when an operator is not found in those before it.
FAMILIES = (
    "convolution",
    "activation",
    "normalization",
    "pooling",
    "linear",
    "shape",
    "loss",
    "elementwise",
    "scalars",
    "shape_parts",
    "special_functions",
    "algebra",
    "assignment",
    "bitwise",
    "control",
    "convolution_deformable",
    "creation",
    "densities",
    "detection",
    "factorization",
    "image",
    "image_processing",
    "image_resize",
    "indexing",
    "numpy_elementwise",
    "numpy_arithmetic",
    "numpy_masks",
    "numpy_scalars",
    "later_elementwise",
    "later_attention",
    "later_factorization",
    "later_functions",
    "later_indexing",
    "later_quantized",
    "later_random",
    "later_shape",
    "numpy_creation",
    "numpy_insertion",
    "numpy_joining",
    "numpy_padding",
    "numpy_shape",
    "numpy_products",
    "numpy_reduction",
    "numpy_selection",
    "numpy_norm",
    "numpy_statistics",
    "likelihood",
    "numpy_style",
    "pooling_of_regions",
    "proposals",
    "quantized",
    "quantized_attention",
    "quantized_fused",
    "quantized_products",
    "random",
    "random_counts",
    "random_numpy",
    "recurrent",
    "reduction",
    "resize",
    "sparse",
    "selection",
    "transforms",
)


@cache
def import_table() -> FamilyTable[str, ImportFunction]:
    """The import function of every MXNet operator that can be imported, by canonical name."""
    return FamilyTable(__name__, FAMILIES, "IMPORTS", made=checked)


__all__ = ["FAMILIES", "import_table"]
