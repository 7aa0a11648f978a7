"""Import from and export to MXNet, one file a family, with the same names as in `graphir.ops`."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from graphir.converters.mxnet.importing.context import ImportFunction, families
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
    found = families(*(import_module(f"{__name__}.{family}").IMPORTS for family in FAMILIES))
    return {name: checked(name, function) for name, function in found.items()}


__all__ = ["FAMILIES", "import_table"]
