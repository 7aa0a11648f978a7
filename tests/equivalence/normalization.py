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


def affine(channels: int) -> tuple[Input, ...]:
    """gamma and beta."""
    return param("gamma", channels, kind="positive"), param("beta", channels)


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
    case("BatchNorm", "cudnn_off", IMAGE, *statistics(3), fix_gamma=False, cudnn_off=True),
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
    case("L2Normalization", "channel_3d", data(2, 3, 5), mode="channel"),
)

REFUSED: tuple[Case, ...] = (
    case("BatchNorm", "axis", IMAGE, *statistics(3), axis=4),
    case("LayerNorm", "gamma_size", data(2, 3, 5), *affine(3)),
    case("GroupNorm", "groups", data(2, 4, 5), *affine(4), num_groups=3),
    case("LRN", "even", IMAGE, nsize=4),
    case("L2Normalization", "channel_2d", data(2, 3), mode="channel"),
)
