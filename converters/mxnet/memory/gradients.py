"""What the gradient of each of MXNet's operators reads and gives: this decides which activations stay.

In a row `g` is the gradient of an output, `i` an input, `o` an output, each with its number, or `*` for all of them in
order; nodes of a gradient that is several are separated by `|`. The rows state what is observed in the graphs that
MXNet 1.9.1 (with oneDNN) makes and in what it allocates for them, which `test_gradients.py` checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

Attributes = Mapping[str, object]
Pairs = tuple[tuple[int, int, bool], ...]

FIRST: Pairs = ((0, 0, False),)
SECOND: Pairs = ((1, 0, False),)
EITHER: Pairs = ((0, 0, False), (1, 0, False))
ANY_OF_THREE: Pairs = ((0, 0, False), (1, 0, False), (2, 0, False))
BEHIND: Pairs = ((2, 1, False), (3, 2, False))
THIRD: Pairs = ((2, 0, False),)
TO_BOTH: Pairs = ((0, 0, False), (0, 1, False))
CROSSED: Pairs = ((0, 1, False),)
IDENTITY: Pairs = ((0, 0, True),)


class Gradient(NamedTuple):
    """The nodes of a gradient: what they read, how many results they have (None: one an input), where they work in
    place. `operator` is their name, where the gradient of `Op` or `_Op` is not `_backward_Op`.

    `slots` says for each input which result is its gradient, `z` for zeros; by default the result of the same number.
    """

    reads: str
    gives: int | None = None
    in_place: Pairs = ()
    operator: str = ""
    slots: str = ""


PASSED = Gradient("pass")
"""The gradient goes to every input as it is."""
COPIED = Gradient("copies")
"""The gradient goes to every input through a copy."""
ZEROS = Gradient("zeros")
"""Every input gets zeros of its own."""

Row = Gradient | Callable[[Attributes], Gradient]


def _activation(attributes: Attributes) -> Gradient:
    is_relu = attributes.get("act_type") == "relu"
    return Gradient("g0 o0" if is_relu else "g0 o0 i0", in_place=FIRST)


def has_workspace(attributes: Attributes) -> bool:
    """Return whether a Pooling keeps where its maxima were: not without a window or with channels last, which oneDNN
    does not compute.
    """
    is_last = str(attributes.get("layout") or "").endswith("C")
    return attributes.get("pool_type") == "max" and bool(attributes.get("kernel")) and not is_last


def _softmax(attributes: Attributes) -> Gradient:
    if attributes.get("dtype") is None and not attributes.get("use_length"):
        return Gradient("g0 o0", in_place=FIRST)
    return Gradient("g0 i0 o0", in_place=ANY_OF_THREE)


def _recurrent(attributes: Attributes) -> Gradient:
    has_cell = attributes.get("mode") == "lstm"
    if not attributes.get("state_outputs"):
        return Gradient("i0 i1 i2 o0 g0 i3" if has_cell else "i0 i1 i2 o0 g0")
    return Gradient("i0 i1 i2 o0 g0 o1 g1 i3 o2 g2" if has_cell else "i0 i1 i2 o0 g0 o1 g1")


def _top(attributes: Attributes) -> Gradient:
    kind = attributes.get("ret_typ")
    return ZEROS if kind not in ("value", "both") else Gradient("g0 o0 o1", operator="_backward_topk")


def _by_length(otherwise: Gradient) -> Callable[[Attributes], Gradient]:
    return lambda attributes: Gradient("g0 i1") if attributes.get("use_sequence_length") else otherwise


_NORMALIZED = Gradient("g0 o1 o2 i0 i1 i3 i4", 3)
_COPY = Gradient("g0", in_place=IDENTITY, operator="_backward_copy")
_RESHAPED = Gradient("g0", in_place=IDENTITY, operator="_backward_reshape")
_USE_OUT = Gradient("g0 o0", in_place=EITHER)
_USE_IN = Gradient("g0 i0", in_place=EITHER)
_FROM_OUT = Gradient("g0")
_PRODUCT = Gradient("g0 i0 i1", in_place=CROSSED)
_BROADCAST = Gradient("g0 i0 i1", in_place=CROSSED)
_REDUCED = Gradient("g0 i0 o0")
_LOSS = Gradient("i1 o0", in_place=SECOND)

_USING_OUT = ("cbrt", "relu", "sigmoid", "sqrt", "tan", "tanh", "_rpower_scalar")
_USING_IN = (
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cos", "cosh", "degrees", "erf", "expm1",
    "log", "log10", "log1p", "log2", "radians", "rcbrt", "reciprocal", "rsqrt", "sign", "sin",
    "sinh", "softsign", "square", "_hypot_scalar", "_maximum_scalar", "_minimum_scalar", "_mod_scalar",
    "_power_scalar", "_rdiv_scalar", "_rmod_scalar", "smooth_l1",
)  # fmt: skip
_ARITHMETIC = ("hypot", "maximum", "minimum", "mod", "power")
_COMPARED = ("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal")
_LOGICAL = ("logical_and", "logical_or", "logical_xor")
_WITHOUT = (
    "BlockGrad", "_contrib_arange_like", "_contrib_box_decode", "argmax", "argmin", "argsort", "ceil", "fix", "floor",
    "_npi_around", "logical_not", "one_hot", "ones_like", "rint", "round", "shape_array", "size_array", "trunc",
    "zeros_like",
)  # fmt: skip
_LAYOUT = (
    "Pad", "SwapAxis", "_contrib_AdaptiveAvgPooling2D", "_np_cumsum", "col2im", "diag", "im2col", "mean", "repeat",
    "reverse", "slice", "slice_axis", "slice_like", "stack", "sum", "tile", "_contrib_BilinearResize2D", "Crop",
)  # fmt: skip

GRADIENTS: dict[str, Row] = {
    **dict.fromkeys(_USING_OUT, _USE_OUT),
    **dict.fromkeys(_USING_IN, _USE_IN),
    **{f"_{name}": _PRODUCT for name in _ARITHMETIC},
    **{
        f"_contrib_{name}": Gradient(reads, operator=f"_backward_{name}")
        for name, reads in (
            ("interleaved_matmul_encdec_qk", "g0 i0 i1"), ("interleaved_matmul_encdec_valatt", "g0 i0 i1"),
            ("interleaved_matmul_selfatt_qk", "g0 i0"), ("interleaved_matmul_selfatt_valatt", "g0 i0 i1"),
        )
    },
    **{f"broadcast_{name}": _BROADCAST for name in (*_ARITHMETIC, "div", "mul")},
    **{f"{before}{name}{after}": ZEROS for name in (*_COMPARED, *_LOGICAL)
       for before, after in (("_", ""), ("_", "_scalar"), ("broadcast_", ""))},
    **dict.fromkeys(_WITHOUT, ZEROS),
    **dict.fromkeys(_LAYOUT, _FROM_OUT),
    **dict.fromkeys(("broadcast_axis", "broadcast_to"), Gradient("g0", operator="_broadcast_backward")),
    **dict.fromkeys(("max", "min", "nanprod", "nansum", "norm", "prod"), _REDUCED),
    **dict.fromkeys(("SequenceLast", "SequenceReverse"), _by_length(Gradient("g0"))),
    "SequenceMask": _by_length(Gradient("g0", in_place=FIRST)),
    **dict.fromkeys(("softmax", "softmin"), _softmax),
    "LinearRegressionOutput": _LOSS._replace(operator="_backward_linear_reg_out"),
    "LogisticRegressionOutput": _LOSS._replace(operator="_backward_logistic_reg_out"),
    "MAERegressionOutput": _LOSS._replace(operator="_backward_mae_reg_out"),
    "SVMOutput": Gradient("i1 o0"),
    "BatchNorm_v1": _NORMALIZED,
    "_contrib_SyncBatchNorm": _NORMALIZED._replace(operator="_backward__contrib_SyncBatchNorm"),
    **dict.fromkeys(("GroupNorm", "LayerNorm"), Gradient("g0 i0 i1 o1 o2")),
    **dict.fromkeys(("_copy", "_plus_scalar", "_minus_scalar"), Gradient("g0", in_place=IDENTITY, operator="_copy")),
    "add_n": COPIED,
    "elemwise_add": PASSED,
    "Cast": Gradient("g0", in_place=IDENTITY, operator="_backward_cast"),
    "amp_cast": Gradient("g0", in_place=IDENTITY),
    **dict.fromkeys(("Reshape", "_np_reshape", "expand_dims"), _RESHAPED),
    "elemwise_sub": Gradient("g0", 2, TO_BOTH, "_backward_sub"),
    **dict.fromkeys(("Convolution_v1", "dot", "softmax_cross_entropy"), Gradient("g0 i0 i1")),
    "_linalg_gemm2": Gradient("g0 i0 i1", in_place=SECOND),
    "Activation": _activation,
    "BatchNorm": Gradient("g0 o1 o2 i0 i1 i2 i3 i4", 3),
    "BilinearSampler": Gradient("g0 i0 o1 i1"),
    "Concat": Gradient("g0 i*"),
    "Convolution": Gradient("g0 i*"),
    "Deconvolution": Gradient("g0 i*"),
    "Dropout": Gradient("g0 o1", in_place=FIRST),
    "Embedding": Gradient("g0 i0"),
    "Flatten": _COPY,
    "FullyConnected": Gradient("g0 i0 i1", in_place=SECOND),
    "GridGenerator": lambda attributes: Gradient("g0 o1" if attributes.get("transform_type") == "warp" else "g0"),
    "InstanceNorm": Gradient("g0 o1 o2 i0 i1"),
    "L2Normalization": Gradient("g0 o0 o1", in_place=FIRST),
    "LRN": Gradient("g0 i0 o1"),
    "LeakyReLU": Gradient("g* i* o*", in_place=FIRST),
    "MakeLoss": Gradient(""),
    "Pooling": lambda attributes: Gradient("g* i0 o*", in_place=SECOND if has_workspace(attributes) else ()),
    "Pooling_v1": Gradient("g0 i0 o0", in_place=SECOND),
    "RNN": _recurrent,
    "ROIPooling": Gradient("g0 i1 o1"),
    "SliceChannel": Gradient("g*"),
    "SoftmaxActivation": Gradient("g0 o0", in_place=FIRST),
    "SoftmaxOutput": Gradient("o0 i1", in_place=FIRST),
    "SpatialTransformer": Gradient("g0 o1 o2 i0"),
    "UpSampling": lambda attributes: Gradient("g0 i0 i1" if attributes.get("sample_type") == "bilinear" else "g0"),
    "_contrib_DeformableConvolution": Gradient("g0 i0 i1 i2", operator="_backward__contrib_DeformableConvolution"),
    "_contrib_ModulatedDeformableConvolution": Gradient(
        "g0 i0 i1 i2 i3", operator="_backward__contrib_ModulatedDeformableConvolution"
    ),
    "_contrib_ROIAlign": Gradient("g0 i1", operator="_backward_ROIAlign"),
    "_contrib_div_sqrt_dim": Gradient("g0", in_place=FIRST, operator="_contrib_div_sqrt_dim"),
    "_contrib_quadratic": Gradient("g0 i0", operator="_contrib_backward_quadratic"),
    "_contrib_BatchNormWithReLU": Gradient("g0 o1 o2 i0 i1 i2 i3 i4 o3", 3),
    "_contrib_MultiBoxDetection": Gradient("g0 i0 i1 i2 o0", operator="_backward__contrib_MultiBoxDetection"),
    "_contrib_MultiBoxPrior": Gradient("g0 i0 o0", operator="_backward__contrib_MultiBoxPrior"),
    "_contrib_box_iou": Gradient("g0"),
    "_contrib_gradientmultiplier": Gradient("g0", in_place=FIRST, operator="_contrib_backward_gradientmultiplier"),
    "_npi_tril": Gradient("g0", operator="_backward_tril"),
    "_rnn_param_concat": Gradient("g0 i*", operator="_backward_Concat"),
    "_div_scalar": Gradient("g0", in_place=FIRST),
    "_linalg_det": Gradient("g0 o0 o1 o2"),
    "_linalg_gemm": Gradient("g0 i0 i1 i2", in_place=BEHIND),
    "_linalg_syrk": Gradient("g0 i0"),
    "_mul_scalar": Gradient("g0", in_place=FIRST),
    "_rminus_scalar": Gradient("g0", in_place=FIRST, operator="negative"),
    "_split_v2": Gradient("g*", operator="_split_v2_backward"),
    "batch_dot": Gradient("g0 i1|i0 g0", operator="batch_dot"),
    "broadcast_add": Gradient("g0", 2, TO_BOTH),
    "broadcast_like": Gradient("g0", 1, operator="_broadcast_backward", slots="0z"),
    "broadcast_sub": Gradient("g0", 2, TO_BOTH),
    "clip": Gradient("g0 i0"),
    "depth_to_space": Gradient("g0", operator="space_to_depth"),
    "elemwise_div": _PRODUCT._replace(operator="_backward_div"),
    "elemwise_mul": _PRODUCT._replace(operator="_backward_mul"),
    "exp": Gradient("g0 o0", in_place=EITHER, operator="elemwise_mul"),
    "gather_nd": Gradient("g0 i1", 1, slots="0z"),
    "hard_sigmoid": Gradient("g0 i0", in_place=EITHER),
    "log_softmax": Gradient("g0 o0", in_place=FIRST),
    "make_loss": Gradient("i0", in_place=FIRST, operator="ones_like"),
    "moments": Gradient("g* i0 o*"),
    "negative": Gradient("g0", in_place=FIRST, operator="negative"),
    "pick": Gradient("g0 i1", 1, slots="0z"),
    "reshape_like": Gradient("g0", 1, IDENTITY, "_backward_copy", "0z"),
    "scatter_nd": Gradient("g0 i1", 1, operator="gather_nd", slots="0z"),
    "space_to_depth": Gradient("g0", operator="depth_to_space"),
    "squeeze": Gradient("g0"),
    "take": Gradient("g0 i1"),
    "topk": _top,
    "transpose": Gradient("g0", operator="transpose"),
    "where": Gradient("g0 i0", 2, slots="z01"),
}  # fmt: skip

_UNARY = (
    *_USING_OUT, *_USING_IN, "Activation", "Dropout", "LeakyReLU", "SoftmaxActivation", "SoftmaxOutput", "add_n",
    "ceil", "exp", "fix", "floor", "log_softmax", "logical_not", "negative", "rint", "round", "softmax", "softmin",
    "GroupNorm", "LayerNorm", "MakeLoss", "SequenceMask", "_contrib_arange_like", "_contrib_box_nms",
    "_contrib_div_sqrt_dim", "_contrib_gradientmultiplier", "_contrib_quadratic", "_np_cumsum", "_npi_around",
    "_npi_tril", "hard_sigmoid", "ones_like", "trunc", "zeros_like", "_div_scalar", "_minus_scalar", "_mul_scalar",
    "_plus_scalar", "_rminus_scalar",
    *(f"_{name}_scalar" for name in (*_COMPARED, *_LOGICAL)),
)  # fmt: skip
_BINARY = (
    "_grad_add", "elemwise_add", "elemwise_div", "elemwise_mul", "elemwise_sub",
    *(f"_{name}" for name in (*_ARITHMETIC, *_COMPARED, *_LOGICAL)),
    *(f"broadcast_{name}" for name in (*_ARITHMETIC, *_COMPARED, *_LOGICAL, "add", "div", "mul", "sub")),
)  # fmt: skip
_SAME_BYTES = (
    "BlockGrad", "Cast", "Flatten", "Reshape", "_copy", "_identity_with_attr_like_rhs", "_np_reshape", "amp_cast",
    "expand_dims", "make_loss", "reshape_like",
)  # fmt: skip
IN_PLACE: dict[str, Pairs] = {
    **dict.fromkeys(_UNARY, FIRST),
    **dict.fromkeys(_BINARY, EITHER),
    **dict.fromkeys(_SAME_BYTES, IDENTITY),
    "_linalg_gemm": THIRD,
}

NEVER_MIRRORED = frozenset(("Dropout",))
COSTLY = frozenset(("Concat", "Convolution", "FullyConnected", "SoftmaxOutput"))
"""What MXNET_BACKWARD_DO_MIRROR does not recompute."""


def gradient_of(operator: str, attributes: Attributes) -> Gradient | None:
    """Return the gradient of an operator, None where it is not known."""
    result = GRADIENTS.get(operator)
    return result if result is None or isinstance(result, Gradient) else result(attributes)
