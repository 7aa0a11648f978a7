"""Which operators stay in float32 whatever their numbers, and why; which only move elements."""

from __future__ import annotations

from collections.abc import Mapping

from graphir.runtime.kernels import releases
from graphir.types import DType

_EXPONENTIAL = "exponentials leave the range at 11, and what is small beside their sum is lost"
_SUM = "its sum grows with the number of elements, and adds small numbers to large ones"
_STATISTICS = "it divides by a root of a sum of squares, which overflows or vanishes before the quotient does"
_PLACES = "its coordinates and scales need more digits than positions have"
_ORDER = "numbers that round to the same have another order"
_QUANTIZED = "scales and zero points of quantization are float32"
_LIST = "lists keep their element type"
_DRAWN = "the numbers that it draws are float32's"
_SIGNAL = "angles and windows need more digits"

STAYS: Mapping[str, str] = {
    **dict.fromkeys(("Exp", "Log", "LogSoftmax", "Softmax", "Softplus", "Cosh", "Sinh", "Mish"), _EXPONENTIAL),
    **dict.fromkeys(
        ("CumProd", "CumSum", "GlobalLpPool", "LpPool", "Mean", "ReduceL1", "ReduceL2", "ReduceLogSum",
         "ReduceLogSumExp", "ReduceMean", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Det"), _SUM
    ),
    **dict.fromkeys(
        ("GroupNormalization", "InstanceNormalization", "LRN", "LayerNormalization", "LpNormalization",
         "MeanVarianceNormalization", "RMSNormalization"), _STATISTICS
    ),
    **dict.fromkeys(("Pow", "Reciprocal", "Sqrt"), "powers and quotients of small sums leave the range"),
    **dict.fromkeys(
        ("AffineGrid", "CenterCropPad", "DeformConv", "GridSample", "ImageDecoder", "MaxRoiPool", "MultiBoxDetection",
         "NonMaxSuppression", "BoxNMS", "Resize", "RoiAlign", "RotaryEmbedding", "Correlation"), _PLACES
    ),
    **dict.fromkeys(("ArgMax", "ArgMin", "Hardmax", "TopK", "Unique", "MaxUnpool"), _ORDER),
    **dict.fromkeys(
        ("ConvInteger", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "QLinearConv", "QLinearMatMul",
         "QuantizeLinear"), _QUANTIZED
    ),
    **dict.fromkeys(
        ("ConcatFromSequence", "Optional", "OptionalGetElement", "SequenceAt", "SequenceConstruct", "SequenceEmpty",
         "SequenceInsert", "SplitToSequence"), _LIST
    ),
    **dict.fromkeys(
        ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"), _DRAWN
    ),
    **dict.fromkeys(
        ("BlackmanWindow", "DFT", "HammingWindow", "HannWindow", "MelWeightMatrix", "STFT"), _SIGNAL
    ),
    **dict.fromkeys(("Attention", "LinearAttention"), _EXPONENTIAL),
    "BitCast": "it takes the bits of float32",
    "CastLike": "it takes over another value's element type",
    "EyeLike": "it states its element type",
    "Foreign": "what it takes is not known here",
    "NegativeLogLikelihoodLoss": _SUM,
    "Range": "its steps accumulate",
    "SoftmaxCrossEntropyLoss": _SUM,
    "TfIdfVectorizer": "its weights are float32",
}  # fmt: skip
"""Operators whose float32 operands and results stay what they are."""

RECURRENT = frozenset({"CausalConvWithState", "GRU", "LSTM", "RNN"})
"""Operators whose state goes from step to step, and in float16 through a kernel of onnxruntime's that needs float32:
1.32 ends the process on one whose weights are float16, if its optimisations are off."""

LOOPS = frozenset({"Loop", "Scan"})
"""Operators whose bodies run step after step on what the step before left: only heavy ones in them are narrow."""

MOVES = frozenset({
    "Compress", "Concat", "DepthToSpace", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity",
    "Pad", "Reshape", "ReverseSequence", "ScatterElements", "ScatterND", "Slice", "SpaceToDepth", "Split", "Squeeze",
    "TensorScatter", "Tile", "Transpose", "Trilu", "Unsqueeze", "Where",
})  # fmt: skip
"""Operators that move elements and compute none: in which dtype follows from what they are given."""

TO_WHOLE = MOVES | {
    "Abs", "Add", "Ceil", "Clip", "Div", "Floor", "Max", "Min", "Mod", "Mul", "Neg", "Round", "Sign", "Sub",
}  # fmt: skip
"""Operators by which numbers become places and lengths, on their way to a Cast to integers."""

READS = frozenset({"Shape", "Size", "IsInf", "IsNaN", "NonZero"})
"""Operators that take what there is and give no floats: they take it in either dtype."""

HEAVY = frozenset({"Conv", "ConvTranspose", "Einsum", "Gemm", "MatMul"})
"""Operators that are worth a Cast before and behind them."""

WIDE_SLOTS: Mapping[str, frozenset[int]] = {"BatchNormalization": frozenset({1, 2, 3, 4}), "Dropout": frozenset({1})}
"""Operands that stay float32 where the others are narrow: variance + epsilon has to keep its digits."""

UNSAID = {
    DType.FLOAT16: frozenset({"Celu"}),
    DType.BFLOAT16: frozenset({"Compress", "ReverseSequence", "Shrink"}),
}
"""Operators that ONNX has not in the dtype, whatever onnxruntime has."""

_TEXTS = {DType.FLOAT16: "float16", DType.BFLOAT16: "bfloat16"}


def has_kernel(operator: str, dtype: DType) -> bool:
    """Whether ONNX has an operator in the dtype and the newest onnxruntime that is known here runs it on the CPU.

    Where it has no kernel for float16 it goes through float32 by itself.

    >>> has_kernel("Conv", DType.FLOAT16), has_kernel("Conv", DType.BFLOAT16), has_kernel("Reshape", DType.BFLOAT16)
    (True, False, True)
    """
    if operator in UNSAID[dtype]:
        return False
    release = releases()[-1]
    wanted = _TEXTS[dtype]
    rows = [*release.kernels.get(operator, ()), *release.functions.get(operator, ())]
    texts = [text.split() for _, _, taken in rows for text in taken.values()]
    if not rows:
        return dtype is DType.FLOAT16  # a composition of others
    return any(wanted in found for found in texts) or (dtype is DType.FLOAT16 and any("float" in one for one in texts))


__all__ = ["HEAVY", "LOOPS", "MOVES", "READS", "RECURRENT", "STAYS", "TO_WHOLE", "WIDE_SLOTS", "has_kernel"]
