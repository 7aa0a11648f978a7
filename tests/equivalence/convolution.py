"""Cases of Convolution and Deconvolution.

MXNet's plain CPU kernel of Deconvolution is wrong for a stride and a dilation together (it writes between the dilated
positions) and refuses three spatial axes; oneDNN does both after the documentation, so those cases ask for it.
"""

from __future__ import annotations

from dataclasses import replace

from tests.equivalence.case import Case, Input, case, data, param

OFFSET = data(1, 36, 6, 5, name="offset")
DEFORMED = param("weight", 4, 2, 3, 3)


def inputs(shape: tuple[int, ...], weight: tuple[int, ...], bias: int = 0, dtype: str = "float32") -> tuple[Input, ...]:
    """data, weight and, unless it is 0, bias."""
    found = (data(*shape, dtype=dtype), param("weight", *weight, dtype=dtype))
    return (*found, param("bias", bias, dtype=dtype)) if bias else found


DEFORMABLE: tuple[Case, ...] = tuple(replace(row, least_opset=19) for row in (
    case(
        "_contrib_DeformableConvolution", "groups",
        data(1, 4, 6, 5), OFFSET, DEFORMED, param("bias", 4),
        kernel=(3, 3), pad=(1, 1), num_filter=4, num_group=2, num_deformable_group=2,
    ),
    case(
        "_contrib_DeformableConvolution", "stride_dilate",
        data(2, 3, 9, 8), data(2, 18, 5, 4, name="offset", kind="scale:2"), param("weight", 4, 3, 3, 3),
        kernel=(3, 3), pad=(1, 2), stride=(2, 2), dilate=(1, 2), num_filter=4, no_bias=True,
    ),
    case(
        "_contrib_ModulatedDeformableConvolution", "groups",
        data(1, 4, 6, 5), OFFSET, data(1, 18, 6, 5, name="mask", kind="positive"), DEFORMED, param("bias", 4),
        kernel=(3, 3), pad=(1, 1), num_filter=4, num_group=2, num_deformable_group=2,
    ),
))  # fmt: skip

CASES: tuple[Case, ...] = (
    case("Convolution", "1x1", *inputs((2, 3, 5, 4), (4, 3, 1, 1), 4), kernel=(1, 1), num_filter=4),
    case("Convolution", "3x3_pad", *inputs((2, 3, 7, 6), (4, 3, 3, 3), 4), kernel=(3, 3), pad=(1, 1), num_filter=4),
    case(
        "Convolution", "no_bias", *inputs((1, 2, 6, 6), (3, 2, 3, 3)), kernel=(3, 3), num_filter=3, no_bias=True
    ),
    case(
        "Convolution", "no_bias_as_1", *inputs((1, 2, 6, 6), (3, 2, 3, 3)), kernel=(3, 3), num_filter=3, no_bias=1
    ),
    case(
        "Convolution",
        "stride_leaves_a_rest",
        *inputs((1, 3, 8, 9), (2, 3, 3, 3), 2),
        kernel=(3, 3), stride=(2, 2), pad=(0, 1), num_filter=2,
    ),
    case(
        "Convolution",
        "everything_differs_by_axis",
        *inputs((2, 4, 11, 13), (6, 2, 3, 2), 6),
        kernel=(3, 2), stride=(2, 3), dilate=(2, 1), pad=(2, 1), num_filter=6, num_group=2,
    ),
    case(
        "Convolution",
        "dilate_3",
        *inputs((1, 2, 12, 12), (2, 2, 3, 3), 2),
        kernel=(3, 3), dilate=(3, 3), pad=(3, 3), num_filter=2,
    ),
    case(
        "Convolution",
        "depthwise",
        *inputs((2, 6, 8, 7), (6, 1, 3, 3)),
        kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=6, num_group=6, no_bias=True,
    ),
    case(
        "Convolution",
        "depthwise_multiplier",
        *inputs((1, 3, 6, 6), (6, 1, 3, 3), 6),
        kernel=(3, 3), num_filter=6, num_group=3,
    ),
    case("Convolution", "1d", *inputs((2, 3, 9), (4, 3, 3), 4), kernel=(3,), pad=(1,), stride=(2,), num_filter=4),
    case(
        "Convolution",
        "1d_layout",
        *inputs((2, 3, 9), (4, 3, 3), 4),
        kernel=(3,), num_filter=4, dilate=(2,), layout="NCW",
    ),
    case(
        "Convolution", "2d_layout", *inputs((1, 2, 5, 5), (3, 2, 2, 2), 3), kernel=(2, 2), num_filter=3, layout="NCHW"
    ),
    case(
        "Convolution",
        "3d",
        *inputs((1, 2, 5, 6, 7), (3, 2, 2, 3, 3), 3),
        kernel=(2, 3, 3), stride=(1, 2, 2), pad=(1, 0, 1), num_filter=3,
    ),
    case(
        "Convolution",
        "float64",
        *inputs((1, 2, 5, 5), (3, 2, 3, 3), 3, "float64"),
        kernel=(3, 3), num_filter=3,
    ),
    case(
        "Convolution",
        "list_syntax_and_tuning_keys",
        *inputs((1, 2, 5, 5), (3, 2, 3, 3), 3),
        kernel=[3, 3], num_filter=3, workspace=1024, cudnn_tune="off", cudnn_off=False,
    ),
    case(
        "Convolution_v1",
        "plain",
        *inputs((1, 2, 6, 5), (3, 2, 3, 3), 3),
        kernel=(3, 3), stride=(2, 1), pad=(1, 1), num_filter=3,
    ),
    *DEFORMABLE,
    case("Deconvolution", "plain", *inputs((2, 3, 4, 5), (3, 4, 3, 3)), kernel=(3, 3), num_filter=4),
    case(
        "Deconvolution",
        "bias",
        *inputs((2, 3, 4, 5), (3, 4, 3, 3), 4),
        kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=4, no_bias=False,
    ),
    case(
        "Deconvolution",
        "adj",
        *inputs((1, 3, 4, 5), (3, 2, 4, 3)),
        kernel=(4, 3), stride=(3, 2), pad=(1, 1), adj=(2, 1), num_filter=2,
    ),
    case(
        "Deconvolution",
        "groups_dilate",
        *inputs((1, 4, 5, 4), (4, 3, 2, 3)),
        kernel=(2, 3), stride=(2, 1), dilate=(2, 2), num_filter=6, num_group=2, onednn=True,
    ),
    case(
        "Deconvolution",
        "dilate",
        *inputs((1, 4, 5, 4), (4, 3, 3, 3)),
        kernel=(3, 3), dilate=(2, 2), num_filter=3,
    ),
    case(
        "Deconvolution",
        "target_shape_even",
        *inputs((1, 2, 5, 5), (2, 2, 4, 4)),
        kernel=(4, 4), stride=(2, 2), target_shape=(10, 10), num_filter=2,
    ),
    case(
        "Deconvolution",
        "target_shape_odd_beats_pad",
        *inputs((1, 2, 5, 4), (2, 2, 4, 4)),
        kernel=(4, 4), stride=(2, 2), pad=(1, 1), target_shape=(9, 9), num_filter=2,
    ),
    case(
        "Deconvolution",
        "bilinear_depthwise",
        *inputs((1, 3, 4, 4), (3, 1, 4, 4)),
        kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=3, num_group=3, no_bias=True,
    ),
    case(
        "Deconvolution",
        "1d",
        *inputs((2, 3, 5), (3, 2, 3)),
        kernel=(3,), stride=(2,), pad=(1,), adj=(1,), num_filter=2,
    ),
    case(
        "Deconvolution",
        "3d",
        *inputs((1, 2, 3, 3, 4), (2, 2, 2, 3, 3)),
        kernel=(2, 3, 3), stride=(2, 1, 2), num_filter=2, onednn=True,
    ),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("Convolution", "kernel_too_big", *inputs((1, 2, 3, 3), (3, 2, 5, 5), 3), kernel=(5, 5), num_filter=3),
    case("Convolution", "groups", *inputs((1, 3, 5, 5), (4, 1, 3, 3), 4), kernel=(3, 3), num_filter=4, num_group=2),
    case("Convolution", "filters", *inputs((1, 2, 5, 5), (4, 2, 3, 3), 4), kernel=(3, 3), num_filter=5),
    case("Convolution", "weight_channels", *inputs((1, 2, 5, 5), (4, 3, 3, 3), 4), kernel=(3, 3), num_filter=4),
    case("Convolution", "bias_size", *inputs((1, 2, 5, 5), (4, 2, 3, 3), 3), kernel=(3, 3), num_filter=4),
    case("Convolution", "rank", *inputs((2, 5, 5), (4, 2, 3, 3), 4), kernel=(3, 3), num_filter=4),
    case(
        "Deconvolution", "adj_not_below_stride", *inputs((1, 2, 4, 4), (2, 2, 3, 3)),
        kernel=(3, 3), stride=(2, 2), adj=(2, 2), num_filter=2,
    ),
    case(
        "Deconvolution", "target_shape_too_big", *inputs((1, 2, 4, 4), (2, 2, 3, 3)),
        kernel=(3, 3), stride=(2, 2), target_shape=(20, 20), num_filter=2,
    ),
)  # fmt: skip
