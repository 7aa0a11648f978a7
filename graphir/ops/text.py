"""Operators on texts (tensors of dtype string)."""

from __future__ import annotations

import enum

from graphir.errors import ShapeError
from graphir.types import UNKNOWN, Dim, DType, TensorType, format_shape

from .base import Operand, Operator, operator, refine
from .broadcasting import broadcast
from .counts import new_size
from .dtypes import INDICES, TEXT
from .traits import Rounding
from .work import Open


def _texts(operand: TensorType, name: str = "X") -> None:
    """Raise ShapeError unless the operand holds texts."""
    if operand.dtype not in (None, DType.STRING):
        raise ShapeError(f"{name} is {operand.dtype}, expected string")


@operator
class StringConcat(Operator):
    """Each text of X followed by that of Y; the operands broadcast. Source: ONNX StringConcat-20."""

    inputs = ("X", "Y")
    outputs = ("Z",)
    takes = (TEXT, TEXT)
    rounding = Rounding.TEXTS

    def infer(self, x: TensorType, y: TensorType) -> TensorType:
        _texts(x)
        _texts(y, "Y")
        return TensorType(DType.STRING, broadcast(x.shape, y.shape))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return tuple(refine(operand, None, DType.STRING) for operand in operands)


class CaseChange(enum.Enum):
    """What becomes of the letters' case."""

    NONE = "NONE"
    LOWER = "LOWER"
    UPPER = "UPPER"


@operator
class StringNormalizer(Operator):
    """X, (C) or (1, C), without the texts in `stopwords`, in another case; one empty text if none is left.

    Source: ONNX StringNormalizer-10.
    """

    inputs = ("X",)
    counts = True
    takes = (TEXT,)
    rounding = Rounding.TEXTS
    case_change_action: CaseChange = CaseChange.NONE
    is_case_sensitive: bool = False
    locale: str | None = None
    stopwords: tuple[str, ...] = ()

    def infer(self, x: TensorType) -> TensorType:
        _texts(x)
        if x.shape is None:
            return TensorType(DType.STRING, None)
        if len(x.shape) not in (1, 2) or (len(x.shape) == 2 and isinstance(x.shape[0], int) and x.shape[0] != 1):
            raise ShapeError(f"X has the shape {format_shape(x.shape)}, expected (C) or (1, C)")
        left = new_size() if self.stopwords or x.shape[-1] == 0 else x.shape[-1]
        return TensorType(DType.STRING, (*(1,) * (len(x.shape) - 1), left))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return (refine(operands[0], None, DType.STRING),)


@operator
class StringSplit(Operator):
    """The parts of each text of X between `delimiter`s (runs of blanks if None or empty), filled up with "".

    At most `maxsplit` splits are made, any number if None. Results: Y with one further axis of parts, and Z, int64,
    the number of parts of each text. Source: ONNX StringSplit-20.
    """

    inputs = ("X",)
    counts = True
    outputs = ("Y", "Z")
    takes = (TEXT,)
    rounding = Rounding.TEXTS
    delimiter: str | None = None
    maxsplit: int | None = None

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        _texts(x)
        parts = None if x.shape is None else (*x.shape, new_size())
        return TensorType(DType.STRING, parts), TensorType(DType.INT64, x.shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return (refine(operands[0], results[1].shape, DType.STRING),)


@operator
class RegexFullMatch(Operator):
    """Whether the regular expression `pattern` (of RE2) matches each text of X in full.

    Source: ONNX RegexFullMatch-20.
    """

    inputs = ("X",)
    takes = (TEXT,)
    rounding = Rounding.TEXTS
    pattern: str

    def infer(self, x: TensorType) -> TensorType:
        _texts(x)
        return TensorType(DType.BOOL, x.shape)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return (refine(operands[0], results[0].shape, DType.STRING),)


class TfIdfMode(enum.Enum):
    """What is written for an n-gram: how often it comes, its weight if it comes, or the product of both."""

    TF = "TF"
    IDF = "IDF"
    TFIDF = "TFIDF"


@operator
class TfIdfVectorizer(Operator):
    """How often n-grams of a pool come in X, (C) or (N, C) of texts or integers, each at its place of a float32 vector.

    N-grams have `min_gram_length` to `max_gram_length` entries that are up to `max_skip_count` entries apart.
    `ngram_counts` holds where in the pool those of each length begin, `ngram_indexes` the place of each n-gram in the
    result, `weights` its weight. Source: ONNX TfIdfVectorizer-9.
    """

    inputs = ("X",)
    takes = (INDICES | TEXT,)
    rounding, stays_wide = Rounding.ROUNDS, "its weights are float32"
    work = Open("how many n-grams it counts depends on the elements")
    mode: TfIdfMode
    min_gram_length: int
    max_gram_length: int
    max_skip_count: int
    ngram_counts: tuple[int, ...]
    ngram_indexes: tuple[int, ...]
    pool_int64s: tuple[int, ...] = ()
    pool_strings: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()

    def check_attributes(self) -> None:
        self.demand(bool(self.ngram_indexes), "ngram_indexes", "a place for each n-gram")
        has_one_pool = bool(self.pool_int64s) is not bool(self.pool_strings)
        self.demand(has_one_pool, "pool_strings", "texts, or pool_int64s with integers, but not both")
        ends = (*self.ngram_counts[1:], len(self.pool_int64s) or len(self.pool_strings))
        sizes = [stop - start for start, stop in zip(self.ngram_counts, ends, strict=True)]
        fit = self.ngram_counts[:1] in ((), (0,))
        fit = fit and all(size >= 0 and size % n == 0 for n, size in enumerate(sizes, 1))
        self.demand(fit, "ngram_counts", "where in the pool the n-grams of each length begin, whole n-grams each")
        count = sum(size // n for n, size in enumerate(sizes, 1))
        fit = len(self.ngram_indexes) == count and min(self.ngram_indexes, default=0) >= 0
        self.demand(fit, "ngram_indexes", f"a place of at least 0 for each of {count} n-grams")
        self.demand(len(self.weights) in (0, count), "weights", f"none, or one for each of {count} n-grams")

    def infer(self, x: TensorType) -> TensorType:
        if x.dtype not in (None, DType.STRING, DType.INT32, DType.INT64):
            raise ShapeError(f"X is {x.dtype}, expected string, int32 or int64")
        size: Dim = max(self.ngram_indexes) + 1
        if x.shape is None:
            return TensorType(DType.FLOAT32, None)
        if len(x.shape) not in (1, 2):
            raise ShapeError(f"X has the shape {format_shape(x.shape)}, expected (C) or (N, C)")
        return TensorType(DType.FLOAT32, (*x.shape[:-1], size))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        shape = results[0].shape
        return (refine(operands[0], None if shape is None else (*shape[:-1], UNKNOWN)),)


OPERATORS = (StringConcat, StringNormalizer, StringSplit, RegexFullMatch, TfIdfVectorizer)
