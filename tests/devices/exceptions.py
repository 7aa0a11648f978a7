"""The operator cases that a provider computes wrongly, or fails to run, by the reason: faults of onnxruntime, or of
what it runs on; see docs/devices.md. A case that agrees again fails its test.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tests.equivalence.case import Case

Rows = Mapping[str, tuple[str, ...]]
WEBGPU: Rows = MappingProxyType({
    "WGSL may assume that there are no NaN and no infinities": (
        "_contrib_MultiBoxDetection-none", "_contrib_MultiBoxDetection-other_background", "_linalg_sumlogdiag-special",
        "_npi_exp-special", "_npi_ldexp-float32_places", "_npi_rldexp_scalar-float32_-1.5",
        "_npi_rldexp_scalar-float32_2", "_npi_rldexp_scalar-float32_7", "_power-special",
        "_random_pdf_exponential-odd", "_random_pdf_normal-odd", "cbrt-special", "clip-special_-1_1",
        "clip-special_-2.7_inf", "clip-special_nan_1", "exp-special", "log-special", "rcbrt-special", "relu-special",
        "sigmoid-special", "softmax-no_temperature", "softmax-special",
    ),
    "ConvTranspose of three dimensions is not offered, though its node is taken": (
        "Deconvolution-3d",
    ),
    "GatherND and ScatterND behind TopK take other rows": (
        "_contrib_box_nms-background", "_contrib_box_nms-batch", "_contrib_box_nms-center_to_corner",
        "_contrib_box_nms-corner_to_center", "_contrib_box_nms-leading_axes", "_contrib_box_nms-narrow",
        "_contrib_box_nms-none_valid", "_contrib_box_nms-overlap_0", "_contrib_box_nms-per_class",
    ),
    "the shader of Pow does not compile where both operands are broadcast": (
        "_npi_power-both_sides", "broadcast_power-both_sides",
    ),
    "integers beyond float32's 24 bits, or beyond their range, are computed as float32 and saturate": (
        "_hypot_scalar-int32_-inf", "_hypot_scalar-int32_1e10", "_hypot_scalar-int32_inf", "_hypot_scalar-int32_nan",
        "_npi_power-int32", "_npi_power-int8_int32", "_npi_power_scalar-int32_3", "_npi_power_scalar-int64_3",
        "_npi_power_scalar-uint8_3", "_npi_rpower_scalar-int32_3", "_npi_rpower_scalar-int64_3",
        "_npi_rpower_scalar-uint8_3", "_power-int32_integers", "_power-int64_integers", "_power_scalar-int32_3",
        "_power_scalar-int32_300.5", "_power_scalar-int8", "_rdiv_scalar-int32_-inf", "_rdiv_scalar-int32_1e10",
        "_rdiv_scalar-int32_inf", "_rdiv_scalar-int32_nan", "_rpower_scalar-int32_-2.5", "_rpower_scalar-int32_-inf",
        "_rpower_scalar-int32_0.5", "_rpower_scalar-int32_1e10", "_rpower_scalar-int32_3",
        "_rpower_scalar-int32_300.5", "_rpower_scalar-int32_inf", "_rpower_scalar-int32_nan", "arctanh-int32_numbers",
        "arctanh-int8_numbers", "degrees-int32_numbers", "square-int32_numbers",
    ),
    "ConvTranspose with groups gives other numbers": (
        "col2im-default", "col2im-pad_dilate", "col2im-stride",
    ),
    "a session does not start where Cos of float64 stands beside what the device takes": (
        "cos-int32_numbers", "cos-int8_numbers", "tan-int32_numbers", "tan-int8_numbers", "tan-wide_float64",
    ),
    "MatMul of a matrix and a vector is wrong, or its shader does not compile": (
        "_np_dot-2x0_0x3", "_np_dot-2x3_3", "_np_dot-4x2x3_3", "_npi_matmul-2x0_0x3", "_npi_matmul-2x3_3",
        "_npi_matmul-3_4x3x2", "_npi_matmul-4x2x3_3", "dot-matrix_vector",
    ),
    "right alone, wrong behind other models in the same process: not run": (
        "GroupNorm-float64", "GroupNorm-output_mean_var", "InstanceNorm-rank_5",
    ),
    "Einsum's equation is not parsed, or its shader does not compile": (
        "_npi_einsum-22", "_npi_einsum-6", "_npi_einsum-7", "_npi_einsum-8",
    ),
    "a reduction of a tensor without elements is refused": (
        "_npi_argmax-other_empty", "_npi_argmin-other_empty", "nanprod-bool_of_none-np_shape",
        "prod-bool_of_none-np_shape",
    ),
    "AveragePool counts padding that ceil_mode adds beyond the stated one": (
        "Pooling-avg_full_pad_counts", "Pooling-avg_full_pad_counts_even",
    ),
    "sine and cosine are off by up to 25 times the tolerance": (
        "_contrib_RROIAlign-adaptive",
    ),
    "onnxruntime ends the process: an assertion in the fusion of a quantized Gemm": (
        "_sg_mkldnn_fully_connected-rows_relu",
    ),
    "Slice with a negative step gives other elements": (
        "slice-step_-1_from_the_back",
    ),
})  # fmt: skip
OPENVINO: Rows = MappingProxyType({
    "onnxruntime 1.24, which OpenVINO's package is built on, has no kernel for it": (
        "_contrib_DeformableConvolution-groups", "_contrib_ModulatedDeformableConvolution-groups",
    ),
    "an Expand behind a quotient gives other numbers": (
        "_random_pdf_uniform-counts",
    ),
    "OpenVINO refuses a part that it has taken: a Loop with bodies of open sizes": (
        "_linalg_syevd-batch_float32", "_npi_eigh-L_float32", "_npi_eigvalsh-L_float32", "_npi_pinv-vector",
        "_npi_pinv_scalar_rcond-2_4_1e-15", "_npi_svd-batch_float32",
    ),
    "the sign of an infinity is lost, and NaN of the operand that Where does not take comes through": (
        "_npi_copysign-float32_places", "_npi_rcopysign_scalar-float32_2",
    ),
    "ReduceMin of all axes, between two casts of truth values, does not reduce": (
        "_npx_constraint_check-true",
    ),
    "boxes come in another order, or others": (
        "_contrib_Proposal-default",
    ),
})  # fmt: skip
EXCEPTIONS: Mapping[str, Rows] = MappingProxyType({"webgpu": WEBGPU, "openvino": OPENVINO})


def exception_of(name: str, case: Case) -> str | None:
    """Return why the provider does not compute the case, None where it must."""
    rows = EXCEPTIONS.get(name, {})
    return next((reason for reason, cases in rows.items() if case.name in cases), None)


__all__ = ["EXCEPTIONS", "exception_of"]
