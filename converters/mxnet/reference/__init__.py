"""MXNet's operators in plain numpy: the second road to a model's outputs, sharing no code with the conversion.

`operators()` builds the table on its first call; nothing is imported before.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from graphir.converters.mxnet.reference.contract import Reference


@cache
def operators() -> Mapping[str, Reference]:
    """Every operator's reference function by MXNet's canonical name; one that two families claim is an error."""
    from graphir.converters.mxnet.reference import (
        activation,
        algebra,
        assignment,
        bitwise,
        control,
        convolution,
        densities,
        detection,
        elementwise,
        factorization,
        image,
        image_processing,
        image_resize,
        indexing,
        later_elementwise,
        later_shape,
        likelihood,
        linear,
        loss,
        matching,
        normalization,
        numpy_arithmetic,
        numpy_creation,
        numpy_elementwise,
        numpy_joining,
        numpy_norm,
        numpy_padding,
        numpy_products,
        numpy_reduction,
        numpy_selection,
        numpy_shape,
        numpy_statistics,
        numpy_style,
        pooling,
        pooling_of_regions,
        proposals,
        quantized,
        quantized_fused,
        recurrent,
        reduction,
        resize,
        selection,
        shape,
        sparse,
        training,
    )

    families = (
        activation,
        algebra,
        assignment,
        bitwise,
        control,
        convolution,
        densities,
        detection,
        elementwise,
        factorization,
        image,
        image_processing,
        image_resize,
        indexing,
        later_elementwise,
        later_shape,
        likelihood,
        linear,
        loss,
        matching,
        normalization,
        numpy_arithmetic,
        numpy_elementwise,
        numpy_creation,
        numpy_joining,
        numpy_padding,
        numpy_shape,
        numpy_products,
        numpy_reduction,
        numpy_selection,
        numpy_norm,
        numpy_statistics,
        numpy_style,
        pooling,
        quantized,
        pooling_of_regions,
        proposals,
        quantized_fused,
        recurrent,
        reduction,
        resize,
        selection,
        shape,
        sparse,
        training,
    )
    table: dict[str, Reference] = {}
    for family in families:
        claimed = table.keys() & family.OPERATORS.keys()
        if claimed:
            raise ValueError(f"{family.__name__} defines {', '.join(sorted(claimed))} a second time")
        table.update(family.OPERATORS)
    return MappingProxyType(table)


def supported() -> tuple[str, ...]:
    """The names of all operators that the reference evaluator knows, sorted."""
    return tuple(sorted(operators()))


__all__ = ["Reference", "operators", "supported"]
