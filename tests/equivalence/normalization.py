"""Cases of the normalization family."""

from __future__ import annotations

from tests.equivalence.case import Case, Input, aux, case, data, param


def statistics(channels: int, dtype: str = "float32") -> tuple[Input, ...]:
    """gamma, beta, moving_mean and moving_var."""
    return (
        param("gamma", channels, dtype=dtype, kind="positive"),
        param("beta", channels, dtype=dtype),
        aux("moving_mean", channels, dtype=dtype),
        aux("moving_var", channels, dtype=dtype, kind="positive"),
    )


def affine(channels: int, dtype: str = "float32") -> tuple[Input, ...]:
    """gamma and beta."""
    return param("gamma", channels, dtype=dtype, kind="positive"), param("beta", channels, dtype=dtype)


IMAGE = data(2, 3, 4, 5)

CASES: tuple[Case, ...] = (
    case("BatchNorm", "all_defaults", IMAGE, *statistics(3)),
    case("BatchNorm", "fix_gamma", IMAGE, *statistics(3), fix_gamma=True, eps=2e-05, momentum=0.9),
    case("BatchNorm", "own_gamma", IMAGE, *statistics(3), fix_gamma=False, eps=1e-05, use_global_stats=False),
    case("BatchNorm", "global_stats", IMAGE, *statistics(3), fix_gamma=False, use_global_stats=True),
    case("BatchNorm", "large_eps", IMAGE, *statistics(3), fix_gamma=False, eps=0.5),
    case("BatchNorm", "rank_2", data(4, 3), *statistics(3), fix_gamma=False),
    case("BatchNorm", "rank_3", data(2, 3, 5), *statistics(3), fix_gamma=False),
    case("BatchNorm", "rank_5", data(2, 3, 2, 3, 2), *statistics(3), fix_gamma=False),
    case("BatchNorm", "axis_last", data(2, 4, 5, 3), *statistics(3), fix_gamma=False, axis=-1),
    case("BatchNorm", "axis_2", data(2, 4, 3, 5), *statistics(3), fix_gamma=False, axis=2),
    case("BatchNorm", "output_mean_var", IMAGE, *statistics(3), fix_gamma=False, output_mean_var=True),
    case("BatchNorm", "float64", data(2, 3, 4, dtype="float64"), *statistics(3, "float64"), fix_gamma=False),
    case("BatchNorm", "float16", data(2, 3, 4, dtype="float16"), *statistics(3), fix_gamma=False),
    case("BatchNorm", "cudnn_off", IMAGE, *statistics(3), fix_gamma=False, cudnn_off=True),
    case("BatchNorm_v1", "output_mean_var", IMAGE, *statistics(3), fix_gamma=False, output_mean_var=True),
    case("BatchNorm_v1", "fix_gamma_mean_var", IMAGE, *statistics(3), output_mean_var=True, eps=0.1),
    case("_contrib_BatchNormWithReLU", "plain", IMAGE, *statistics(3), fix_gamma=False, onednn=True),
    case("_contrib_SyncBatchNorm", "own_gamma", IMAGE, *statistics(3), fix_gamma=False, eps=1e-05, ndev=1, key="a"),
    case("BatchNorm_v1", "own_gamma", IMAGE, *statistics(3), fix_gamma=False, eps=1e-05),
    case("BatchNorm_v1", "fix_gamma", IMAGE, *statistics(3)),
    case("LRN", "default_knorm", data(1, 8, 4, 4, kind="scale:3"), nsize=5),
    case("LRN", "alexnet", data(2, 7, 3, 3, kind="scale:10"), nsize=5, alpha=0.1, beta=0.75, knorm=1),
    case("LRN", "nsize_3", data(2, 5, 3, 3), nsize=3, alpha=0.5, beta=0.5, knorm=2.5),
    case("LRN", "as_many_as_channels", data(1, 5, 2, 2), nsize=5, alpha=1.0),
    case("InstanceNorm", "rank_4", IMAGE, *affine(3)),
    case("InstanceNorm", "rank_3_eps", data(2, 3, 6), *affine(3), eps=0.1),
    case("InstanceNorm", "rank_5", data(2, 3, 2, 3, 2), *affine(3), eps=1e-05),
    case("LayerNorm", "last", data(2, 3, 5), *affine(5)),
    case("LayerNorm", "axis_1", data(2, 3, 5), *affine(3), axis=1, eps=0.01),
    case("LayerNorm", "axis_0", data(4, 5), *affine(4), axis=0),
    case("LayerNorm", "output_mean_var", data(2, 3, 5), *affine(5), output_mean_var=True),
    case("GroupNorm", "one", data(2, 4, 3, 3), *affine(1)),
    case("GroupNorm", "two", data(2, 6, 3, 2), *affine(2), num_groups=2, eps=0.01),
    case("GroupNorm", "each_channel", data(2, 4, 5), *affine(4), num_groups=4),
    case("GroupNorm", "output_mean_var", data(2, 4, 5), *affine(2), num_groups=2, output_mean_var=True),
    case("L2Normalization", "instance_default", IMAGE),
    case("L2Normalization", "channel", IMAGE, mode="channel", eps=1e-05),
    case("L2Normalization", "spatial", IMAGE, mode="spatial"),
    case("L2Normalization", "instance_2d_eps", data(4, 5), mode="instance", eps=0.5),
    *(case("L2Normalization", f"instance_1d_{dtype}", data(5, dtype=dtype), eps=0.5)
      for dtype in ("float16", "float32")),
    case("L2Normalization", "channel_3d", data(2, 3, 5), mode="channel"),
    case("L2Normalization", "spatial_5d", data(2, 3, 2, 3, 2), mode="spatial", eps=0.1),
    case("L2Normalization", "zeros", data(2, 3, kind="scale:0")),
    case("L2Normalization", "float16", data(2, 3, 4, dtype="float16")),
    case("L2Normalization", "float64", data(2, 3, 4, dtype="float64"), mode="channel"),
    case("BatchNorm", "axis_0", data(3, 4), *statistics(3), fix_gamma=False, axis=0),
    case("BatchNorm", "axis_0_of_1", data(3), *statistics(3), fix_gamma=False, axis=0),
    case("BatchNorm", "axis_last_of_2", data(4, 3), *statistics(3), fix_gamma=False, axis=-1),
    case("BatchNorm", "axis_last_fix_gamma_statistics", data(2, 4, 3), *statistics(3), axis=-1, output_mean_var=True),
    case("BatchNorm", "float64_statistics", data(2, 3, dtype="float64"), *statistics(3, "float64"),
         output_mean_var=True),
    case("BatchNorm", "one_channel", data(2, 1, 3), *statistics(1), fix_gamma=False),
    case("_contrib_SyncBatchNorm", "rank_2", data(4, 3), *statistics(3), ndev=1, key="a"),
    case("BatchNorm_v1", "rank_2", data(4, 3), *statistics(3), fix_gamma=False),
    case("LRN", "nsize_1", data(2, 3, 2, 2), nsize=1, alpha=0.3),
    case("LRN", "odd_numbers", data(1, 9, 2, 2), nsize=7, alpha=0.7, beta=1.5, knorm=0.5),
    case("InstanceNorm", "one_channel", data(2, 1, 6), *affine(1)),
    case("LayerNorm", "axis_1_output_mean_var", data(2, 3, 5), *affine(3), axis=1, output_mean_var=True),
    case("LayerNorm", "axis_minus_2", data(2, 3, 5, 4), *affine(5), axis=-2),
    case("LayerNorm", "axis_positive_last", data(2, 5), *affine(5), axis=1),
    case("LayerNorm", "float16", data(2, 3, 5, dtype="float16"), *affine(5, "float16"), tolerance=4e-3),
    case("LayerNorm", "float64", data(2, 5, dtype="float64"), *affine(5, "float64"), output_mean_var=True),
    case("GroupNorm", "rank_5", data(2, 4, 2, 1, 3), *affine(2), num_groups=2),
    case("GroupNorm", "odd", data(1, 9, 5, 3), *affine(3), num_groups=3),
    case("GroupNorm", "float16", data(2, 4, 5, dtype="float16"), *affine(2, "float16"), num_groups=2, tolerance=4e-3),
    case("GroupNorm", "float64", data(2, 4, 5, dtype="float64"), *affine(2, "float64"), num_groups=2,
         output_mean_var=True),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("BatchNorm", "axis_negative", data(2, 3), *statistics(3), axis=-3),
    case("BatchNorm", "axis", IMAGE, *statistics(3), axis=4),
    case("LayerNorm", "gamma_size", data(2, 3, 5), *affine(3)),
    case("GroupNorm", "groups", data(2, 4, 5), *affine(4), num_groups=3),
    case("LRN", "even", IMAGE, nsize=4),
    case("L2Normalization", "channel_2d", data(2, 3), mode="channel"),
)
