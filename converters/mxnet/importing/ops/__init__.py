"""Import from and export to MXNet, one file a family, with the same names as in `graphir.ops`."""

from __future__ import annotations

from functools import cache

from graphir.converters.kernel.importing import families
from graphir.converters.mxnet.importing.context import ImportFunction
from graphir.converters.mxnet.importing.ops.checks import checked

FAMILIES = (
    "activation",
    "algebra",
    "bitwise",
    "control",
    "convolution",
    "convolution_deformable",
    "creation",
    "detection",
    "elementwise",
    "image",
    "indexing",
    "linear",
    "loss",
    "normalization",
    "numpy_style",
    "pooling",
    "random",
    "recurrent",
    "reduction",
    "resize",
    "scalars",
    "shape",
    "shape_parts",
)


@cache
def import_table() -> dict[str, ImportFunction]:
    """The import function of every MXNet operator that can be imported, by canonical name."""
    return {name: checked(name, function) for name, function in families(__name__, FAMILIES).items()}


__all__ = ["FAMILIES", "import_table"]
