"""Matrix products."""

from __future__ import annotations

from collections.abc import Iterable

from graphir.errors import ShapeError
from graphir.types import UNKNOWN, Dim, DType, Shape, TensorType, format_shape, product, unify_dim

from .base import Operand, Operator, operator, refine, same_dtype, same_rank
from .broadcasting import broadcast
from .dtypes import BYTES, FLOATS, NUMBERS, WIDE_NUMBERS
from .steps import of_determinant, of_einsum, of_gemm, of_zero_points
from .traits import DecisionTrait, Rounding
from .work import ONLY_MACS, Counted


def _inner(left: Dim, right: Dim, a: Shape | None, b: Shape | None) -> Dim:
    """Return the size that is summed over. Raises ShapeError that shows both matrices."""
    try:
        return unify_dim(left, right)
    except ShapeError:
        raise ShapeError(
            f"{format_shape(a)} and {format_shape(b)} do not multiply: {left} columns meet {right} rows"
        ) from None


@operator
class Gemm(Operator):
    """alpha * op(A) op(B) + beta * C, where op transposes on request: (M, K) and (K, N) give (M, N).

    C is a matrix that broadcasts to (M, N), or absent. Source: ONNX Gemm-13.
    """

    inputs = ("A", "B", "C?")
    takes = (WIDE_NUMBERS, WIDE_NUMBERS, WIDE_NUMBERS)
    rounding = Rounding.PRODUCTS
    work = Counted(of_gemm)
    alpha: float = 1.0
    beta: float = 1.0
    transA: bool = False
    transB: bool = False

    def infer(self, a: TensorType, b: TensorType, c: Operand = None) -> TensorType:
        dtype = same_dtype(a, b, c)
        rows, left, right, columns = self._dims(a, b)
        _inner(left, right, a.shape, b.shape)
        result: Shape = (rows, columns)
        if c is not None and c.shape is not None:
            try:
                fits = broadcast(c.shape, result)
            except ShapeError:
                fits = None
            if fits is None or len(fits) != 2 or any(_grows(new, old) for new, old in zip(fits, result, strict=True)):
                raise ShapeError(f"C {format_shape(c.shape)} does not broadcast to {format_shape(result)}")
        return TensorType(dtype, result)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        a, b = operands[:2]
        assert a is not None
        assert b is not None
        dtype = same_dtype(*operands, results[0])
        rows, left, right, columns = self._dims(a, b)
        result = same_rank(results[0], 2, "the result")
        if result is not None:
            rows, columns = unify_dim(rows, result[0]), unify_dim(columns, result[1])
        inner = _inner(left, right, a.shape, b.shape)
        types = [
            refine(a, (inner, rows) if self.transA else (rows, inner), dtype),
            refine(b, (columns, inner) if self.transB else (inner, columns), dtype),
        ]
        return (*types, *(refine(c, None, dtype) for c in operands[2:]))

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        a, b = operands[:2]
        if a is None or b is None:
            return UNKNOWN
        rows, left, right, columns = self._dims(a, b)
        return rows * unify_dim(left, right) * columns

    def _dims(self, a: TensorType, b: TensorType) -> tuple[Dim, Dim, Dim, Dim]:
        """M, K of A, K of B, N."""
        rows, left = same_rank(a, 2, "A") or (UNKNOWN, UNKNOWN)
        right, columns = same_rank(b, 2, "B") or (UNKNOWN, UNKNOWN)
        if self.transA:
            rows, left = left, rows
        if self.transB:
            right, columns = columns, right
        return rows, left, right, columns


def _grows(new: Dim, old: Dim) -> bool:
    return isinstance(new, int) and isinstance(old, int) and new != old


class _MatMul(Operator):
    """What the products of the last two axes share: numpy's matmul rule."""

    rounding = Rounding.PRODUCTS

    def product_shape(self, a: Shape | None, b: Shape | None) -> Shape | None:
        """Return the result's shape. Raises ShapeError."""
        if (a is not None and not a) or (b is not None and not b):
            raise ShapeError(f"{format_shape(a)} and {format_shape(b)} do not multiply: a scalar is no matrix")
        if a is None or b is None:
            return None
        _inner(a[-1], b[0] if len(b) == 1 else b[-2], a, b)
        batch = broadcast(a[:-2], b[:-2])
        assert batch is not None
        return (*batch, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        a = operands[0]
        if a is None or not a.shape:
            return UNKNOWN
        return results[0].elements() * a.shape[-1]


@operator
class MatMul(_MatMul):
    """The product of the last two axes, the others broadcasting, as numpy's matmul; vectors are rows or columns.

    Source: ONNX MatMul-13.
    """

    inputs = ("A", "B")
    takes = (WIDE_NUMBERS, WIDE_NUMBERS)
    work = ONLY_MACS

    def infer(self, a: TensorType, b: TensorType) -> TensorType:
        return TensorType(same_dtype(a, b), self.product_shape(a.shape, b.shape))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        a, b = operands
        assert a is not None
        assert b is not None
        dtype = same_dtype(a, b, results[0])
        left, right = a.shape, b.shape
        wanted_a = wanted_b = None
        if left is not None and right is not None and left and right:
            axis = -1 if len(right) == 1 else -2
            inner = _inner(left[-1], right[axis], left, right)
            wanted_a = (*left[:-1], inner)
            wanted_b = (inner,) if len(right) == 1 else (*right[:-2], inner, right[-1])
            result = results[0].shape
            if result and len(right) == 2:
                wanted_b = (inner, unify_dim(right[-1], result[-1]))
                if len(left) == len(result):
                    wanted_a = (*result[:-1], inner)
        return refine(a, wanted_a, dtype), refine(b, wanted_b, dtype)


@operator
class MatMulInteger(_MatMul):
    """MatMul of 8-bit integers less their zero points, as int32. Source: ONNX MatMulInteger-10."""

    inputs = ("A", "B", "a_zero_point?", "b_zero_point?")
    takes = (BYTES, BYTES, BYTES, BYTES)
    rounding, decides, stays_wide = Rounding.EXACT, DecisionTrait.NOTHING, Rounding.QUANTIZES.stays_wide
    work = Counted(of_zero_points)

    def infer(
        self, a: TensorType, b: TensorType, a_zero_point: Operand = None, b_zero_point: Operand = None
    ) -> TensorType:
        for operand, zero, name in ((a, a_zero_point, "A"), (b, b_zero_point, "B")):
            if operand.dtype not in (None, DType.INT8, DType.UINT8):
                raise ShapeError(f"{name} is {operand.dtype}, expected int8 or uint8")
            same_dtype(operand, zero)
        return TensorType(DType.INT32, self.product_shape(a.shape, b.shape))


@operator
class Einsum(Operator):
    """Products of elements summed over the labels that the result lacks, after `equation`, as numpy's einsum.

    The equation has one letter an axis (upper and lower case), commas between operands, and `->` before the result's
    letters; without it the result has the letters that come once, in alphabetic order. `...` stands for axes that
    broadcast. Source: ONNX Einsum-12.
    """

    inputs = ("Inputs*",)
    outputs = ("Output",)
    takes = (NUMBERS,)
    rounding = Rounding.PRODUCTS
    work = Counted(of_einsum)
    equation: str

    def infer(self, *operands: TensorType) -> TensorType:
        dtype = same_dtype(*operands)
        terms, result = self.terms()
        if len(terms) != len(operands):
            raise ShapeError(f"equation {self.equation} has {len(terms)} terms, found {len(operands)} operands")
        sizes, batch = self._sizes(terms, operands)
        dims: list[Dim] = []
        for label in _labels(result):
            if label == "...":
                if batch is None:
                    return TensorType(dtype, None)
                dims.extend(batch)
            elif label in sizes:
                dims.append(sizes[label])
            else:
                raise ShapeError(f"equation {self.equation}: the result's label {label} is in no operand")
        return TensorType(dtype, tuple(dims))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        dtype = same_dtype(*operands, results[0])
        terms, _ = self.terms()
        if "." in self.equation or len(terms) != len(operands):
            return tuple(refine(operand, None, dtype) for operand in operands)
        return tuple(
            refine(operand, (UNKNOWN,) * len(term), dtype) for term, operand in zip(terms, operands, strict=True)
        )

    def terms(self) -> tuple[list[str], str]:
        """Return the operands' labels and the result's."""
        text = self.equation.replace(" ", "")
        left, arrow, result = text.partition("->")
        if not arrow:
            letters = left.replace(",", "").replace(".", "")
            result = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
            result = ("..." if "..." in left else "") + result
        return left.split(","), result

    def _sizes(
        self, terms: list[str], operands: tuple[Operand, ...]
    ) -> tuple[dict[str, Dim], Shape | None]:
        sizes: dict[str, Dim] = {}
        batch: Shape | None = ()
        for slot, (term, operand) in enumerate(zip(terms, operands, strict=True)):
            labels = _labels(term)
            shape = None if operand is None else operand.shape
            if shape is None:
                sizes |= {label: UNKNOWN for label in labels if label not in sizes and label != "..."}
                batch = None if "..." in labels else batch
                continue
            hidden = len(shape) - len([label for label in labels if label != "..."])
            if hidden < 0 or (hidden and "..." not in labels):
                raise ShapeError(f"operand {slot} has the shape {format_shape(shape)}, the equation says {term!r}")
            axis = 0
            for label in labels:
                if label == "...":
                    batch = broadcast(batch, shape[axis : axis + hidden])
                    axis += hidden
                    continue
                sizes[label] = _label_size(label, sizes[label], shape[axis]) if label in sizes else shape[axis]
                axis += 1
        return sizes, batch

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        terms, _ = self.terms()
        if len(terms) == 1:
            return 0
        sizes, batch = self._sizes(terms, operands)
        return UNKNOWN if batch is None else product((*sizes.values(), *batch)) * (len(terms) - 1)


def _labels(term: str) -> list[str]:
    before, dots, after = term.partition("...")
    return [*before, *([dots] if dots else []), *after]


def _label_size(label: str, left: Dim, right: Dim) -> Dim:
    """Return the size of a label that two axes have: runtimes repeat an axis of size 1."""
    if 1 in (left, right):
        return left if right == 1 else right
    try:
        return unify_dim(left, right)
    except ShapeError:
        raise ShapeError(f"label {label} is both {left} and {right}") from None


@operator
class Det(Operator):
    """The determinant of the last two axes: (*, M, M) to (*). Source: ONNX Det-22."""

    inputs = ("X",)
    takes = (FLOATS,)
    rounding = Rounding.SUMS
    work = Counted(of_determinant)

    def infer(self, x: TensorType) -> TensorType:
        if x.shape is None:
            return x
        if len(x.shape) < 2:
            raise ShapeError(f"X has the shape {format_shape(x.shape)}, expected square matrices")
        try:
            unify_dim(x.shape[-1], x.shape[-2])
        except ShapeError:
            raise ShapeError(f"X has the shape {format_shape(x.shape)}, expected square matrices") from None
        return TensorType(x.dtype, x.shape[:-2])

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        shape = results[0].shape
        return (refine(operands[0], None if shape is None else (*shape, UNKNOWN, UNKNOWN), results[0].dtype),)

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        """Of an elimination: the sum of the squares up to M - 1."""
        x = operands[0]
        if x is None or not x.shape:
            return UNKNOWN
        size = x.shape[-1]
        return product(x.shape[:-2]) * (size * (size - 1) * (2 * size - 1) // 6)


def is_empty(operands: Iterable[object]) -> bool:
    """Return whether one of the operands of an Einsum is known to have no elements: onnxruntime divides by its sizes
    then, in some equations, which ends the process."""
    return any(0 in (getattr(operand, "shape", None) or ()) for operand in operands)


OPERATORS = (Gemm, MatMul, MatMulInteger, Einsum, Det)
