"""All cases of all families, for tests that walk them."""

from __future__ import annotations

from tests.equivalence import (
    activation,
    algebra,
    bitwise,
    convolution,
    detection,
    elementwise,
    factorization,
    image,
    image_processing,
    indexing,
    integers,
    linear,
    loss,
    normalization,
    numpy_creation,
    numpy_arithmetic,
    numpy_elementwise,
    numpy_joining,
    numpy_products,
    numpy_reduction,
    numpy_padding,
    numpy_shape,
    numpy_selection,
    numpy_norm,
    numpy_statistics,
    numpy_style,
    pooling,
    quantized,
    proposals,
    recurrent,
    reduction,
    resize,
    shape,
    sparse,
    special,
    training,
)
from tests.equivalence.case import Case

FAMILIES = (
    activation, algebra, bitwise, convolution, detection, elementwise, image, indexing, integers, linear, loss,
    numpy_arithmetic,
    numpy_elementwise,
    numpy_selection,
    activation, algebra, bitwise, convolution, detection, elementwise, image,
    image_processing, indexing, integers, linear, loss,
    normalization, numpy_style, pooling, recurrent, reduction, resize, shape,
    quantized,
    normalization, numpy_creation, numpy_joining, numpy_shape, numpy_style,
    normalization, numpy_creation, numpy_joining, numpy_padding, numpy_shape, numpy_style,
    pooling, recurrent, reduction, resize, shape,
    normalization, numpy_products, numpy_reduction, numpy_style, pooling, recurrent, reduction, resize, shape,
    normalization, numpy_style, pooling,
    proposals, recurrent, reduction, resize, shape,
    activation, algebra, bitwise, convolution, detection, elementwise, factorization, image, indexing, integers, linear,
    loss, normalization, numpy_style, pooling, recurrent, reduction, resize, shape,
    special,
    special, sparse, training,
    normalization, numpy_norm, numpy_products, numpy_reduction, numpy_statistics, numpy_style, pooling, recurrent,
    reduction, resize, shape, special,
)  # fmt: skip

CASES: tuple[Case, ...] = tuple(row for family in FAMILIES for row in family.CASES)
REFUSED: tuple[Case, ...] = tuple(row for family in FAMILIES for row in family.REFUSED)
