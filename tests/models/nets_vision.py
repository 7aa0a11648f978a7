"""Image networks of the symbol-API era, written from the published architectures.

Every builder takes the `mx` module first (live MXNet, or anything that speaks its names) and returns a Symbol whose
input is `data` in NCHW, heads included. Widths and depths are arguments, so that a test can ask for a small one.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

Symbol = Any


def mlp(mx: ModuleType, classes: int = 10) -> Symbol:
    net = mx.sym.Variable("data")
    for index, units in enumerate((128, 64), start=1):
        net = mx.sym.FullyConnected(net, num_hidden=units, name=f"fc{index}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{index}")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=classes, name="fc3"), name="softmax")


def lenet(mx: ModuleType, classes: int = 10) -> Symbol:
    """LeCun et al. 1998, in the form of MXNet's tutorials: tanh, max pooling."""
    net = mx.sym.Variable("data")
    for filters in (20, 50):
        net = mx.sym.Convolution(net, kernel=(5, 5), num_filter=filters)
        net = mx.sym.Activation(net, act_type="tanh")
        net = mx.sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2))
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=500)
    net = mx.sym.Activation(net, act_type="tanh")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=classes), name="softmax")


def alexnet(mx: ModuleType, classes: int = 1000, hidden: int = 4096) -> Symbol:
    """Krizhevsky et al. 2012, one tower: LRN after the first two stages, overlapping pooling, dropout."""
    sym = mx.sym

    def conv(net: Symbol, index: int, filters: int, kernel: int, stride: int = 1, pad: int = 0) -> Symbol:
        net = sym.Convolution(
            net,
            kernel=(kernel, kernel),
            stride=(stride, stride),
            pad=(pad, pad),
            num_filter=filters,
            name=f"conv{index}",
        )
        return sym.Activation(net, act_type="relu", name=f"relu{index}")

    def shrink(net: Symbol) -> Symbol:
        return sym.Pooling(net, pool_type="max", kernel=(3, 3), stride=(2, 2))

    net = conv(sym.Variable("data"), 1, 96, 11, stride=4)
    net = shrink(sym.LRN(net, alpha=0.0001, beta=0.75, knorm=2, nsize=5))
    net = conv(net, 2, 256, 5, pad=2)
    net = shrink(sym.LRN(net, alpha=0.0001, beta=0.75, knorm=2, nsize=5))
    for index, filters in ((3, 384), (4, 384), (5, 256)):
        net = conv(net, index, filters, 3, pad=1)
    net = sym.Flatten(shrink(net))
    for index in (6, 7):
        net = sym.FullyConnected(net, num_hidden=hidden, name=f"fc{index}")
        net = sym.Activation(net, act_type="relu", name=f"relu{index}")
        net = sym.Dropout(net, p=0.5, name=f"drop{index}")
    return sym.SoftmaxOutput(sym.FullyConnected(net, num_hidden=classes, name="fc8"), name="softmax")


VGG_STAGES = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}


def vgg(mx: ModuleType, depth: int, batch_norm: bool = False, classes: int = 1000, hidden: int = 4096) -> Symbol:
    """Simonyan and Zisserman 2014."""
    sym = mx.sym
    net = sym.Variable("data")
    for stage, (count, filters) in enumerate(zip(VGG_STAGES[depth], (64, 128, 256, 512, 512), strict=True), start=1):
        for index in range(1, count + 1):
            net = sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=filters, name=f"conv{stage}_{index}")
            if batch_norm:
                net = sym.BatchNorm(net, name=f"bn{stage}_{index}")
            net = sym.Activation(net, act_type="relu", name=f"relu{stage}_{index}")
        net = sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2), name=f"pool{stage}")
    net = sym.Flatten(net, name="flatten")
    for index in (6, 7):
        net = sym.FullyConnected(net, num_hidden=hidden, name=f"fc{index}")
        net = sym.Activation(net, act_type="relu", name=f"relu{index}")
        net = sym.Dropout(net, p=0.5, name=f"drop{index}")
    return sym.SoftmaxOutput(sym.FullyConnected(net, num_hidden=classes, name="fc8"), name="softmax")


def resnet_v2(
    mx: ModuleType, units: tuple[int, ...], filters: tuple[int, ...], bottleneck: bool, classes: int = 1000
) -> Symbol:
    """He et al. 2016, pre-activation. `bn_data` normalises the input with fix_gamma; `filters` starts with the stem's.

    A stem of 7x7 and a pooling for three or four stages of large images; 3x3 where `filters[0]` is 16 (CIFAR).
    """
    sym = mx.sym

    def norm(net: Symbol, name: str) -> Symbol:
        net = sym.BatchNorm(net, fix_gamma=False, eps=2e-5, momentum=0.9, name=f"{name}_bn")
        return sym.Activation(net, act_type="relu", name=f"{name}_relu")

    def conv(net: Symbol, name: str, count: int, kernel: int, stride: int) -> Symbol:
        pad = kernel // 2
        return sym.Convolution(
            net,
            num_filter=count,
            kernel=(kernel, kernel),
            stride=(stride, stride),
            pad=(pad, pad),
            no_bias=True,
            workspace=256,
            name=name,
        )

    def unit(net: Symbol, name: str, count: int, stride: int, same: bool) -> Symbol:
        first = norm(net, f"{name}_1")
        if bottleneck:
            body = conv(first, f"{name}_conv1", count // 4, 1, 1)
            body = conv(norm(body, f"{name}_2"), f"{name}_conv2", count // 4, 3, stride)
            body = conv(norm(body, f"{name}_3"), f"{name}_conv3", count, 1, 1)
        else:
            body = conv(first, f"{name}_conv1", count, 3, stride)
            body = conv(norm(body, f"{name}_2"), f"{name}_conv2", count, 3, 1)
        return body + (net if same else conv(first, f"{name}_sc", count, 1, stride))

    data = sym.identity(sym.Variable("data"), name="id")
    net = sym.BatchNorm(data, fix_gamma=True, eps=2e-5, momentum=0.9, name="bn_data")
    if filters[0] == 16:
        net = conv(net, "conv0", filters[0], 3, 1)
    else:
        net = norm(conv(net, "conv0", filters[0], 7, 2), "stem")
        net = sym.Pooling(net, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max", name="pool0")
    for stage, (count, width) in enumerate(zip(units, filters[1:], strict=True), start=1):
        for index in range(1, count + 1):
            stride = 2 if stage > 1 and index == 1 else 1
            net = unit(net, f"stage{stage}_unit{index}", width, stride, same=index > 1)
    net = sym.Pooling(norm(net, "last"), global_pool=True, kernel=(7, 7), pool_type="avg", name="pool1")
    net = sym.FullyConnected(sym.Flatten(net), num_hidden=classes, name="fc1")
    return sym.SoftmaxOutput(net, name="softmax")


def resnet_v1(
    mx: ModuleType,
    units: tuple[int, ...],
    filters: tuple[int, ...],
    bottleneck: bool,
    classes: int = 1000,
    groups: int = 1,
) -> Symbol:
    """He et al. 2015, post-activation; with `groups` above 1 the ResNeXt of Xie et al. 2017 (inner width halved)."""
    sym = mx.sym

    def conv(net: Symbol, name: str, count: int, kernel: int, stride: int = 1, group: int = 1) -> Symbol:
        net = sym.Convolution(
            net,
            num_filter=count,
            kernel=(kernel, kernel),
            stride=(stride, stride),
            pad=(kernel // 2, kernel // 2),
            num_group=group,
            no_bias=True,
            name=f"{name}_conv",
        )
        return sym.BatchNorm(net, fix_gamma=False, eps=2e-5, name=f"{name}_bn")

    def relu(net: Symbol, name: str) -> Symbol:
        return sym.Activation(net, act_type="relu", name=f"{name}_relu")

    def unit(net: Symbol, name: str, count: int, stride: int, same: bool) -> Symbol:
        if bottleneck:
            inner = count // 2 if groups > 1 else count // 4
            body = relu(conv(net, f"{name}_1", inner, 1), f"{name}_1")
            body = relu(conv(body, f"{name}_2", inner, 3, stride, groups), f"{name}_2")
            body = conv(body, f"{name}_3", count, 1)
        else:
            body = relu(conv(net, f"{name}_1", count, 3, stride), f"{name}_1")
            body = conv(body, f"{name}_2", count, 3)
        shortcut = net if same else conv(net, f"{name}_sc", count, 1, stride)
        return relu(sym.elemwise_add(body, shortcut, name=f"{name}_plus"), name)

    net = relu(conv(sym.Variable("data"), "conv0", filters[0], 7, 2), "conv0")
    net = sym.Pooling(net, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max", name="pool0")
    for stage, (count, width) in enumerate(zip(units, filters[1:], strict=True), start=1):
        for index in range(1, count + 1):
            stride = 2 if stage > 1 and index == 1 else 1
            net = unit(net, f"stage{stage}_unit{index}", width, stride, same=index > 1)
    net = sym.Pooling(net, global_pool=True, kernel=(7, 7), pool_type="avg", name="pool1")
    net = sym.FullyConnected(sym.Flatten(net), num_hidden=classes, name="fc1")
    return sym.SoftmaxOutput(net, name="softmax")


def mobilenet(mx: ModuleType, multiplier: float = 1.0, classes: int = 1000) -> Symbol:
    """Howard et al. 2017: depthwise 3x3 (num_group equal to the channels), pointwise 1x1."""
    sym = mx.sym

    def conv(net: Symbol, name: str, filters: int, kernel: int, stride: int = 1, group: int = 1) -> Symbol:
        net = sym.Convolution(
            net,
            num_filter=filters,
            kernel=(kernel, kernel),
            stride=(stride, stride),
            pad=(kernel // 2, kernel // 2),
            num_group=group,
            no_bias=True,
            name=name,
        )
        net = sym.BatchNorm(net, fix_gamma=False, name=f"{name}_bn")
        return sym.Activation(net, act_type="relu", name=f"{name}_relu")

    widths = [int(width * multiplier) for width in (32, 64, 128, 128, 256, 256, *[512] * 6, 1024, 1024)]
    strides = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1)
    net = conv(sym.Variable("data"), "conv1", widths[0], 3, 2)
    for index, (before, after, stride) in enumerate(zip(widths, widths[1:], strides, strict=False), start=2):
        net = conv(net, f"conv{index}_dw", before, 3, stride, before)
        net = conv(net, f"conv{index}", after, 1)
    net = sym.Pooling(net, global_pool=True, kernel=(7, 7), pool_type="avg", name="pool")
    net = sym.Convolution(net, num_filter=classes, kernel=(1, 1), name="fc7")
    return sym.SoftmaxOutput(sym.Flatten(net), name="softmax")


def mobilenet_v2(mx: ModuleType, multiplier: float = 1.0, classes: int = 1000) -> Symbol:
    """Sandler et al. 2018: inverted residuals, ReLU6 as `clip`, linear bottlenecks."""
    sym = mx.sym

    def conv(net: Symbol, name: str, filters: int, kernel: int, stride: int = 1, group: int = 1) -> Symbol:
        net = sym.Convolution(
            net,
            num_filter=filters,
            kernel=(kernel, kernel),
            stride=(stride, stride),
            pad=(kernel // 2, kernel // 2),
            num_group=group,
            no_bias=True,
            name=name,
        )
        return sym.BatchNorm(net, fix_gamma=False, eps=1e-5, name=f"{name}_bn")

    def relu6(net: Symbol, name: str) -> Symbol:
        return sym.clip(net, a_min=0, a_max=6, name=f"{name}_relu6")

    width = int(32 * multiplier)
    net = relu6(conv(sym.Variable("data"), "first", width, 3, 2), "first")
    plan = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for stage, (expansion, channels, count, first_stride) in enumerate(plan, start=1):
        for index in range(1, count + 1):
            name, stride, out = f"seq{stage}_unit{index}", first_stride if index == 1 else 1, int(channels * multiplier)
            body = relu6(conv(net, f"{name}_expand", width * expansion, 1), f"{name}_expand")
            body = relu6(conv(body, f"{name}_dw", width * expansion, 3, stride, width * expansion), f"{name}_dw")
            body = conv(body, f"{name}_project", out, 1)
            net = sym.broadcast_add(net, body, name=f"{name}_add") if stride == 1 and width == out else body
            width = out
    net = relu6(conv(net, "last", max(1280, int(1280 * multiplier)), 1), "last")
    net = sym.Pooling(net, global_pool=True, kernel=(1, 1), pool_type="avg", name="pool")
    net = sym.Convolution(net, num_filter=classes, kernel=(1, 1), no_bias=True, name="fc")
    return sym.SoftmaxOutput(sym.reshape(net, shape=(0, -1), name="reshape"), name="softmax")


def squeezenet(mx: ModuleType, classes: int = 1000) -> Symbol:
    """Iandola et al. 2016, version 1.1, pooling with the `full` convention as in Caffe."""
    sym = mx.sym

    def conv(net: Symbol, name: str, filters: int, kernel: int, stride: int = 1, pad: int = 0) -> Symbol:
        net = sym.Convolution(
            net, num_filter=filters, kernel=(kernel, kernel), stride=(stride, stride), pad=(pad, pad), name=name
        )
        return sym.Activation(net, act_type="relu", name=f"{name}_relu")

    def fire(net: Symbol, name: str, squeeze: int, expand: int) -> Symbol:
        net = conv(net, f"{name}_squeeze1x1", squeeze, 1)
        sides = (conv(net, f"{name}_expand1x1", expand, 1), conv(net, f"{name}_expand3x3", expand, 3, pad=1))
        return sym.Concat(*sides, dim=1, name=f"{name}_concat")

    def shrink(net: Symbol) -> Symbol:
        return sym.Pooling(net, kernel=(3, 3), stride=(2, 2), pool_type="max", pooling_convention="full")

    net = shrink(conv(sym.Variable("data"), "conv1", 64, 3, 2))
    net = shrink(fire(fire(net, "fire2", 16, 64), "fire3", 16, 64))
    net = shrink(fire(fire(net, "fire4", 32, 128), "fire5", 32, 128))
    net = fire(fire(net, "fire6", 48, 192), "fire7", 48, 192)
    net = fire(fire(net, "fire8", 64, 256), "fire9", 64, 256)
    net = conv(sym.Dropout(net, p=0.5, name="drop9"), "conv10", classes, 1)
    net = sym.Pooling(net, kernel=(13, 13), global_pool=True, pool_type="avg", name="pool10")
    return sym.SoftmaxOutput(sym.Flatten(net, name="flatten"), name="softmax")


def densenet(
    mx: ModuleType, blocks: tuple[int, ...] = (6, 12, 24, 16), growth: int = 32, classes: int = 1000
) -> Symbol:
    """Huang et al. 2017: every layer sees the concatenation of all before it; transitions halve the channels."""
    sym = mx.sym

    def layer(net: Symbol, name: str, filters: int, kernel: int) -> Symbol:
        net = sym.BatchNorm(net, fix_gamma=False, eps=2e-5, name=f"{name}_bn")
        net = sym.Activation(net, act_type="relu", name=f"{name}_relu")
        pad = kernel // 2
        return sym.Convolution(
            net, num_filter=filters, kernel=(kernel, kernel), pad=(pad, pad), no_bias=True, name=f"{name}_conv"
        )

    channels = 2 * growth
    net = sym.Convolution(
        sym.Variable("data"),
        num_filter=channels,
        kernel=(7, 7),
        stride=(2, 2),
        pad=(3, 3),
        no_bias=True,
        name="conv0",
    )
    net = sym.Pooling(net, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max", name="pool0")
    for block, count in enumerate(blocks, start=1):
        for index in range(1, count + 1):
            name = f"dense{block}_layer{index}"
            new = layer(layer(net, f"{name}_1", 4 * growth, 1), f"{name}_2", growth, 3)
            net = sym.concat(net, new, dim=1, name=f"{name}_concat")
            channels += growth
        if block < len(blocks):
            channels //= 2
            net = layer(net, f"transition{block}", channels, 1)
            net = sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="avg", name=f"transition{block}_pool")
    net = sym.Activation(sym.BatchNorm(net, fix_gamma=False, eps=2e-5, name="last_bn"), act_type="relu")
    net = sym.Pooling(net, global_pool=True, kernel=(7, 7), pool_type="avg", name="last_pool")
    net = sym.FullyConnected(sym.Flatten(net), num_hidden=classes, name="fc")
    return sym.SoftmaxOutput(net, name="softmax")
