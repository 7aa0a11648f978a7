"""Import from and export to MXNet, one file a family, with the same names as in `graphir.ops`."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from graphir.converters.mxnet.context import ImportFunction, families

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
    "shape",
    "shape_parts",
)


@cache
def import_table() -> dict[str, ImportFunction]:
    """The import function of every MXNet operator that can be imported, by canonical name."""
    return families(*(import_module(f"{__name__}.{family}").IMPORTS for family in FAMILIES))


__all__ = ["FAMILIES", "import_table"]
