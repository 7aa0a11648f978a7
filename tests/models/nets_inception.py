"""The Inception family of the symbol-API era, written from the published architectures.

Builders take the `mx` module first and return a Symbol whose input is `data` in NCHW, heads included.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

Symbol = Any
Pair = tuple[int, int]


def googlenet(mx: ModuleType, classes: int = 1000) -> Symbol:
    """Szegedy et al. 2014: convolutions with bias, LRN in the stem, no auxiliary heads."""
    sym = mx.sym

    def conv(net: Symbol, name: str, filters: int, kernel: int, stride: int = 1, pad: int = 0) -> Symbol:
        net = sym.Convolution(
            net, num_filter=filters, kernel=(kernel, kernel), stride=(stride, stride), pad=(pad, pad), name=name
        )
        return sym.Activation(net, act_type="relu", name=f"relu_{name}")

    def shrink(net: Symbol) -> Symbol:
        return sym.Pooling(net, kernel=(3, 3), stride=(2, 2), pool_type="max", pooling_convention="full")

    def block(net: Symbol, name: str, plan: tuple[int, ...]) -> Symbol:
        one, reduce3, three, reduce5, five, project = plan
        pooled = sym.Pooling(net, kernel=(3, 3), stride=(1, 1), pad=(1, 1), pool_type="max", name=f"{name}_pool")
        branches = (
            conv(net, f"{name}_1x1", one, 1),
            conv(conv(net, f"{name}_3x3_reduce", reduce3, 1), f"{name}_3x3", three, 3, pad=1),
            conv(conv(net, f"{name}_5x5_reduce", reduce5, 1), f"{name}_5x5", five, 5, pad=2),
            conv(pooled, f"{name}_pool_proj", project, 1),
        )
        return sym.Concat(*branches, name=f"{name}_output")

    net = shrink(conv(sym.Variable("data"), "conv1", 64, 7, 2, 3))
    net = sym.LRN(net, alpha=1e-4, beta=0.75, knorm=1, nsize=5, name="norm1")
    net = conv(conv(net, "conv2_reduce", 64, 1), "conv2", 192, 3, pad=1)
    net = shrink(sym.LRN(net, alpha=1e-4, beta=0.75, knorm=1, nsize=5, name="norm2"))
    net = block(net, "in3a", (64, 96, 128, 16, 32, 32))
    net = shrink(block(net, "in3b", (128, 128, 192, 32, 96, 64)))
    net = block(net, "in4a", (192, 96, 208, 16, 48, 64))
    net = block(net, "in4b", (160, 112, 224, 24, 64, 64))
    net = block(net, "in4c", (128, 128, 256, 24, 64, 64))
    net = block(net, "in4d", (112, 144, 288, 32, 64, 64))
    net = shrink(block(net, "in4e", (256, 160, 320, 32, 128, 128)))
    net = block(net, "in5a", (256, 160, 320, 32, 128, 128))
    net = block(net, "in5b", (384, 192, 384, 48, 128, 128))
    net = sym.Pooling(net, kernel=(7, 7), stride=(1, 1), global_pool=True, pool_type="avg", name="avg_pool")
    net = sym.Dropout(sym.Flatten(net), p=0.4, name="drop")
    return sym.SoftmaxOutput(sym.FullyConnected(net, num_hidden=classes, name="fc"), name="softmax")


def conv_bn(
    mx: ModuleType,
    net: Symbol,
    name: str,
    filters: int,
    kernel: Pair,
    stride: int = 1,
    pad: Pair = (0, 0),
    **more: Any,
) -> Symbol:
    """Convolution without bias, batch normalisation and a ReLU, unless `more` says otherwise of no_bias and relu."""
    norm = {"fix_gamma": True, "eps": 1e-3} | {key: more[key] for key in ("fix_gamma", "eps") if key in more}
    net = mx.sym.Convolution(
        net,
        num_filter=filters,
        kernel=kernel,
        stride=(stride, stride),
        pad=pad,
        no_bias=more.get("no_bias", True),
        name=f"{name}_conv2d",
    )
    net = mx.sym.BatchNorm(net, **norm, name=f"{name}_batchnorm")
    return mx.sym.Activation(net, act_type="relu", name=f"{name}_relu") if more.get("relu", True) else net


def pool(mx: ModuleType, net: Symbol, kind: str, kernel: int = 3, stride: int = 1, pad: int = 1) -> Symbol:
    return mx.sym.Pooling(net, kernel=(kernel, kernel), stride=(stride, stride), pad=(pad, pad), pool_type=kind)


def inception_bn(mx: ModuleType, classes: int = 1000) -> Symbol:
    """Ioffe and Szegedy 2015: 5x5 becomes two 3x3, batch normalisation everywhere, convolutions keep their bias."""
    sym = mx.sym

    def conv(net: Symbol, name: str, filters: int, kernel: int, stride: int = 1, pad: int = 0) -> Symbol:
        return conv_bn(mx, net, name, filters, (kernel, kernel), stride, (pad, pad), no_bias=False)

    def keep(net: Symbol, name: str, plan: tuple[int, ...], kind: str) -> Symbol:
        one, reduce3, three, reduce_double, double, project = plan
        twice = conv(conv(net, f"{name}_d3x3_reduce", reduce_double, 1), f"{name}_d3x3_0", double, 3, pad=1)
        branches = (
            conv(net, f"{name}_1x1", one, 1),
            conv(conv(net, f"{name}_3x3_reduce", reduce3, 1), f"{name}_3x3", three, 3, pad=1),
            conv(twice, f"{name}_d3x3_1", double, 3, pad=1),
            conv(pool(mx, net, kind), f"{name}_proj", project, 1),
        )
        return sym.Concat(*branches, name=f"ch_concat_{name}")

    def shrink(net: Symbol, name: str, plan: tuple[int, ...]) -> Symbol:
        reduce3, three, reduce_double, double = plan
        twice = conv(conv(net, f"{name}_d3x3_reduce", reduce_double, 1), f"{name}_d3x3_0", double, 3, pad=1)
        branches = (
            conv(conv(net, f"{name}_3x3_reduce", reduce3, 1), f"{name}_3x3", three, 3, 2, 1),
            conv(twice, f"{name}_d3x3_1", double, 3, 2, 1),
            pool(mx, net, "max", stride=2),
        )
        return sym.Concat(*branches, name=f"ch_concat_{name}")

    net = pool(mx, conv(sym.Variable("data"), "1", 64, 7, 2, 3), "max", stride=2, pad=0)
    net = pool(mx, conv(conv(net, "2_red", 64, 1), "2", 192, 3, pad=1), "max", stride=2, pad=0)
    net = keep(net, "3a", (64, 64, 64, 64, 96, 32), "avg")
    net = keep(net, "3b", (64, 64, 96, 64, 96, 64), "avg")
    net = shrink(net, "3c", (128, 160, 64, 96))
    net = keep(net, "4a", (224, 64, 96, 96, 128, 128), "avg")
    net = keep(net, "4b", (192, 96, 128, 96, 128, 128), "avg")
    net = keep(net, "4c", (160, 128, 160, 128, 160, 128), "avg")
    net = keep(net, "4d", (96, 128, 192, 160, 192, 128), "avg")
    net = shrink(net, "4e", (128, 192, 192, 256))
    net = keep(net, "5a", (352, 192, 320, 160, 224, 128), "avg")
    net = keep(net, "5b", (352, 192, 320, 192, 224, 128), "max")
    net = sym.Pooling(net, kernel=(7, 7), stride=(1, 1), global_pool=True, pool_type="avg", name="global_pool")
    net = sym.FullyConnected(sym.Flatten(net, name="flatten"), num_hidden=classes, name="fc1")
    return sym.SoftmaxOutput(net, name="softmax")


def _v3_conv(
    mx: ModuleType, net: Symbol, name: str, filters: int, kernel: Pair, stride: int = 1, pad: Pair = (0, 0)
) -> Symbol:
    return conv_bn(mx, net, name, filters, kernel, stride, pad, eps=2e-5)


def _v3_chain(mx: ModuleType, net: Symbol, name: str, steps: tuple[tuple[int, Pair, int, Pair], ...]) -> Symbol:
    for index, (filters, kernel, stride, pad) in enumerate(steps):
        net = _v3_conv(mx, net, f"{name}_{index}", filters, kernel, stride, pad)
    return net


def _v3_block_a(mx: ModuleType, net: Symbol, name: str, project: int) -> Symbol:
    return mx.sym.Concat(
        _v3_conv(mx, net, f"{name}_1x1", 64, (1, 1)),
        _v3_chain(mx, net, f"{name}_5x5", ((48, (1, 1), 1, (0, 0)), (64, (5, 5), 1, (2, 2)))),
        _v3_chain(
            mx,
            net,
            f"{name}_d3x3",
            ((64, (1, 1), 1, (0, 0)), (96, (3, 3), 1, (1, 1)), (96, (3, 3), 1, (1, 1))),
        ),
        _v3_conv(mx, pool(mx, net, "avg"), f"{name}_proj", project, (1, 1)),
        name=f"{name}_concat",
    )


def _v3_block_c(mx: ModuleType, net: Symbol, name: str, width: int) -> Symbol:
    return mx.sym.Concat(
        _v3_conv(mx, net, f"{name}_1x1", 192, (1, 1)),
        _v3_chain(
            mx,
            net,
            f"{name}_7x7",
            ((width, (1, 1), 1, (0, 0)), (width, (1, 7), 1, (0, 3)), (192, (7, 1), 1, (3, 0))),
        ),
        _v3_chain(
            mx,
            net,
            f"{name}_d7x7",
            (
                (width, (1, 1), 1, (0, 0)),
                (width, (7, 1), 1, (3, 0)),
                (width, (1, 7), 1, (0, 3)),
                (width, (7, 1), 1, (3, 0)),
                (192, (1, 7), 1, (0, 3)),
            ),
        ),
        _v3_conv(mx, pool(mx, net, "avg"), f"{name}_proj", 192, (1, 1)),
        name=f"{name}_concat",
    )


def _v3_block_e(mx: ModuleType, net: Symbol, name: str, kind: str) -> Symbol:
    split = _v3_conv(mx, net, f"{name}_3x3", 384, (1, 1))
    double = _v3_chain(mx, net, f"{name}_d3x3", ((448, (1, 1), 1, (0, 0)), (384, (3, 3), 1, (1, 1))))
    return mx.sym.Concat(
        _v3_conv(mx, net, f"{name}_1x1", 320, (1, 1)),
        _v3_conv(mx, split, f"{name}_3x3_a", 384, (1, 3), 1, (0, 1)),
        _v3_conv(mx, split, f"{name}_3x3_b", 384, (3, 1), 1, (1, 0)),
        _v3_conv(mx, double, f"{name}_d3x3_a", 384, (1, 3), 1, (0, 1)),
        _v3_conv(mx, double, f"{name}_d3x3_b", 384, (3, 1), 1, (1, 0)),
        _v3_conv(mx, pool(mx, net, kind), f"{name}_proj", 192, (1, 1)),
        name=f"{name}_concat",
    )


def inception_v3(mx: ModuleType, classes: int = 1000) -> Symbol:
    """Szegedy et al. 2015, at 299x299: 1x7 and 7x1 factorisation, branches that end in two concatenated halves."""
    sym = mx.sym

    net = _v3_conv(mx, sym.Variable("data"), "conv", 32, (3, 3), 2)
    net = _v3_conv(mx, _v3_conv(mx, net, "conv_1", 32, (3, 3)), "conv_2", 64, (3, 3), 1, (1, 1))
    net = pool(mx, net, "max", stride=2, pad=0)
    net = _v3_conv(mx, _v3_conv(mx, net, "conv_3", 80, (1, 1)), "conv_4", 192, (3, 3))
    net = pool(mx, net, "max", stride=2, pad=0)
    for name, project in (("mixed", 32), ("mixed_1", 64), ("mixed_2", 64)):
        net = _v3_block_a(mx, net, name, project)
    net = sym.Concat(
        _v3_conv(mx, net, "mixed_3_3x3", 384, (3, 3), 2),
        _v3_chain(mx, net, "mixed_3_d3x3", ((64, (1, 1), 1, (0, 0)), (96, (3, 3), 1, (1, 1)), (96, (3, 3), 2, (0, 0)))),
        pool(mx, net, "max", stride=2, pad=0),
        name="mixed_3_concat",
    )
    for name, width in (("mixed_4", 128), ("mixed_5", 160), ("mixed_6", 160), ("mixed_7", 192)):
        net = _v3_block_c(mx, net, name, width)
    seven = ((192, (1, 1), 1, (0, 0)), (192, (1, 7), 1, (0, 3)), (192, (7, 1), 1, (3, 0)), (192, (3, 3), 2, (0, 0)))
    net = sym.Concat(
        _v3_chain(mx, net, "mixed_8_3x3", ((192, (1, 1), 1, (0, 0)), (320, (3, 3), 2, (0, 0)))),
        _v3_chain(mx, net, "mixed_8_7x7", seven),
        pool(mx, net, "max", stride=2, pad=0),
        name="mixed_8_concat",
    )
    net = _v3_block_e(mx, _v3_block_e(mx, net, "mixed_9", "avg"), "mixed_10", "max")
    net = sym.Pooling(net, kernel=(8, 8), stride=(1, 1), pool_type="avg", name="global_pool")
    net = sym.FullyConnected(sym.Flatten(net, name="flatten"), num_hidden=classes, name="fc1")
    return sym.SoftmaxOutput(net, name="softmax")


def _resnet_stem(mx: ModuleType, conv: Callable[..., Symbol]) -> Symbol:
    """From the image to 320 channels at 35x35."""
    sym = mx.sym
    net = conv(sym.Variable("data"), "conv1a", 32, (3, 3), 2)
    net = conv(conv(net, "conv2a", 32, (3, 3)), "conv2b", 64, (3, 3), 1, (1, 1))
    net = pool(mx, net, "max", stride=2, pad=0)
    net = conv(conv(net, "conv3b", 80, (1, 1)), "conv4a", 192, (3, 3))
    net = pool(mx, net, "max", stride=2, pad=0)
    deep = conv(conv(net, "tower1_0", 64, (1, 1)), "tower1_1", 96, (3, 3), 1, (1, 1))
    return sym.Concat(
        conv(net, "tower", 96, (1, 1)),
        conv(conv(net, "tower0_0", 48, (1, 1)), "tower0_1", 64, (5, 5), 1, (2, 2)),
        conv(deep, "tower1_2", 96, (3, 3), 1, (1, 1)),
        conv(pool(mx, net, "avg"), "tower2_0", 64, (1, 1)),
    )


def inception_resnet_v2(
    mx: ModuleType, repeats: tuple[int, int, int] = (10, 20, 9), classes: int = 1000, scale: float = 0.17
) -> Symbol:
    """Szegedy et al. 2016, at 299x299; `repeats` counts the blocks at 35x35, 17x17 and 8x8 but the last one."""
    sym = mx.sym

    def conv(
        net: Symbol, name: str, filters: int, kernel: Pair, stride: int = 1, pad: Pair = (0, 0), relu: bool = True
    ) -> Symbol:
        return conv_bn(mx, net, name, filters, kernel, stride, pad, fix_gamma=False, relu=relu)

    def residual(
        net: Symbol, name: str, towers: tuple[Symbol, ...], channels: int, factor: float, relu: bool
    ) -> Symbol:
        mixed = sym.Concat(*towers, name=f"{name}_mixed")
        net = net + factor * conv(mixed, f"{name}_up", channels, (1, 1), relu=False)
        return sym.Activation(net, act_type="relu", name=f"{name}_out") if relu else net

    def block35(net: Symbol, name: str) -> Symbol:
        two = conv(conv(net, f"{name}_b0", 32, (1, 1)), f"{name}_b1", 32, (3, 3), 1, (1, 1))
        three = conv(conv(net, f"{name}_c0", 32, (1, 1)), f"{name}_c1", 48, (3, 3), 1, (1, 1))
        three = conv(three, f"{name}_c2", 64, (3, 3), 1, (1, 1))
        return residual(net, name, (conv(net, f"{name}_a", 32, (1, 1)), two, three), 320, scale, True)

    def block17(net: Symbol, name: str) -> Symbol:
        two = conv(conv(net, f"{name}_b0", 128, (1, 1)), f"{name}_b1", 160, (1, 7), 1, (0, 3))
        two = conv(two, f"{name}_b2", 192, (7, 1), 1, (3, 0))
        return residual(net, name, (conv(net, f"{name}_a", 192, (1, 1)), two), 1088, scale / 1.7, True)

    def block8(net: Symbol, name: str, factor: float, relu: bool) -> Symbol:
        two = conv(conv(net, f"{name}_b0", 192, (1, 1)), f"{name}_b1", 224, (1, 3), 1, (0, 1))
        two = conv(two, f"{name}_b2", 256, (3, 1), 1, (1, 0))
        return residual(net, name, (conv(net, f"{name}_a", 192, (1, 1)), two), 2080, factor, relu)

    net = _resnet_stem(mx, conv)
    for index in range(repeats[0]):
        net = block35(net, f"block35_{index}")
    deep = conv(conv(net, "reduce_a0", 256, (1, 1)), "reduce_a1", 256, (3, 3), 1, (1, 1))
    net = sym.Concat(
        conv(net, "reduce_a", 384, (3, 3), 2),
        conv(deep, "reduce_a2", 384, (3, 3), 2),
        pool(mx, net, "max", stride=2, pad=0),
    )
    for index in range(repeats[1]):
        net = block17(net, f"block17_{index}")
    deep = conv(conv(net, "reduce_b4", 256, (1, 1)), "reduce_b5", 288, (3, 3), 1, (1, 1))
    net = sym.Concat(
        conv(conv(net, "reduce_b0", 256, (1, 1)), "reduce_b1", 384, (3, 3), 2),
        conv(conv(net, "reduce_b2", 256, (1, 1)), "reduce_b3", 288, (3, 3), 2),
        conv(deep, "reduce_b6", 320, (3, 3), 2),
        pool(mx, net, "max", stride=2, pad=0),
    )
    for index in range(repeats[2]):
        net = block8(net, f"block8_{index}", 0.2, True)
    net = conv(block8(net, "block8_last", 1.0, False), "conv7b", 1536, (1, 1))
    net = sym.Pooling(net, kernel=(1, 1), global_pool=True, pool_type="avg", name="global_pool")
    net = sym.Dropout(sym.Flatten(net), p=0.2)
    return sym.SoftmaxOutput(sym.FullyConnected(net, num_hidden=classes, name="fc1"), name="softmax")
