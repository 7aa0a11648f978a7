"""Networks with more than one class a picture: segmentation, detection, faces, generators, and small odd heads.

Written from the published architectures. Builders take the `mx` module first and return a Symbol.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

Symbol = Any


def fcn(mx: ModuleType, stride: int = 8, classes: int = 21, widths: tuple[int, ...] = (8, 16, 24, 32, 32)) -> Symbol:
    """Long et al. 2015: FCN-32s, 16s or 8s. The first convolution pads by 100, Crop cuts scores and output to size.

    FCN-32s crops with an explicit offset, the others by the size of the second input, once centred.
    """
    sym = mx.sym
    data = sym.Variable("data")
    net, pools = data, {}
    for stage, width in enumerate(widths, start=1):
        pad = 100 if stage == 1 else 1
        net = sym.Convolution(net, kernel=(3, 3), pad=(pad, pad), num_filter=width, name=f"conv{stage}_1")
        net = sym.Activation(net, act_type="relu", name=f"relu{stage}_1")
        net = sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2), name=f"pool{stage}")
        pools[stage] = net
    net = sym.Convolution(net, kernel=(7, 7), num_filter=64, name="fc6")
    net = sym.Dropout(sym.Activation(net, act_type="relu", name="relu6"), p=0.5, name="drop6")
    score = sym.Convolution(net, kernel=(1, 1), num_filter=classes, name="score")

    def enlarge(net: Symbol, factor: int, name: str) -> Symbol:
        size = (2 * factor, 2 * factor)
        return sym.Deconvolution(
            net, kernel=size, stride=(factor, factor), num_filter=classes, adj=(factor - 1, factor - 1), name=name
        )

    for stage, offset, wanted in ((4, 5, 16), (3, 9, 8)):
        if stride <= wanted:
            score = sym.Deconvolution(
                score, kernel=(4, 4), stride=(2, 2), num_filter=classes, no_bias=True, name=f"score2_{stage}"
            )
            skip = sym.Convolution(pools[stage], kernel=(1, 1), num_filter=classes, name=f"score_pool{stage}")
            skip = sym.Crop(skip, score, offset=(offset, offset), name=f"score_pool{stage}_crop")
            score = score + skip
    big = enlarge(score, stride, "bigscore")
    if stride == 32:
        big = sym.Crop(big, data, offset=(19, 19), name="upscore")
    else:
        big = sym.Crop(big, data, center_crop=True, name="upscore")
    return sym.SoftmaxOutput(
        big, multi_output=True, use_ignore=True, ignore_label=255, normalization="valid", name="softmax"
    )


def unet(mx: ModuleType, classes: int = 2, width: int = 8, depth: int = 3) -> Symbol:
    """Ronneberger et al. 2015 with padded convolutions; the head is a logistic regression a pixel."""
    sym = mx.sym

    def double(net: Symbol, name: str, filters: int) -> Symbol:
        for index in (1, 2):
            net = sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=filters, name=f"{name}_conv{index}")
            net = sym.LeakyReLU(sym.BatchNorm(net, name=f"{name}_bn{index}"), act_type="elu", slope=0.5)
        return net

    net, skips = sym.Variable("data"), []
    for level in range(depth):
        net = double(net, f"down{level}", width << level)
        skips.append(net)
        net = sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2))
    net = double(net, "bottom", width << depth)
    for level in reversed(range(depth)):
        net = sym.Deconvolution(
            net, kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=width << level, no_bias=True, name=f"up{level}"
        )
        net = double(sym.concat(skips[level], net, dim=1), f"merge{level}", width << level)
    net = sym.Convolution(net, kernel=(1, 1), num_filter=classes, name="score")
    return sym.LogisticRegressionOutput(net, name="logistic")


def ssd(mx: ModuleType, classes: int = 20, train: bool = False, anchors: int = 4) -> Symbol:
    """The head of Liu et al. 2016 without its detection operators, over three scales of a small trunk.

    The first scale goes through L2Normalization and a learned scale. With `train` the heads are the training losses:
    softmax per anchor with ignored labels, smooth L1 through MakeLoss, and the labels passed on behind BlockGrad.
    """
    sym = mx.sym
    net, scales = sym.Variable("data"), []
    for stage, (width, stride) in enumerate(((16, 1), (24, 2), (32, 2), (32, 2)), start=1):
        net = sym.Convolution(net, kernel=(3, 3), pad=(1, 1), stride=(stride, stride), num_filter=width)
        net = sym.Activation(net, act_type="relu", name=f"relu{stage}")
        if stage > 1:
            scales.append(net)
    channels = 24
    norm = sym.L2Normalization(scales[0], mode="channel", eps=1e-10, name="relu2_norm")
    scale = sym.Variable(
        "relu2_scale", shape=(1, channels, 1, 1), init=mx.init.Constant(20), attr={"__wd_mult__": "0.1"}
    )
    scales[0] = sym.broadcast_mul(lhs=scale, rhs=norm)

    def predictions(name: str, per_anchor: int) -> Symbol:
        parts = []
        for index, layer in enumerate(scales):
            bias = sym.Variable(f"{name}_{index}_bias", init=mx.init.Constant(0.0), attr={"__lr_mult__": "2.0"})
            part = sym.Convolution(
                layer, bias=bias, kernel=(3, 3), pad=(1, 1), num_filter=anchors * per_anchor, name=f"{name}_{index}"
            )
            parts.append(sym.Flatten(sym.transpose(part, axes=(0, 2, 3, 1))))
        return sym.Concat(*parts, dim=1, name=f"{name}_concat")

    location = sym.identity(predictions("loc_pred", 4), name="multibox_loc_pred")
    cls = sym.Reshape(predictions("cls_pred", classes + 1), shape=(0, -1, classes + 1))
    cls = sym.transpose(cls, axes=(0, 2, 1), name="multibox_cls_pred")
    if not train:
        return sym.Group([sym.SoftmaxActivation(cls, mode="channel", name="cls_prob"), location])
    label, target, mask = (sym.Variable(name) for name in ("cls_target", "loc_target", "loc_target_mask"))
    cls_prob = sym.SoftmaxOutput(
        data=cls,
        label=label,
        ignore_label=-1,
        use_ignore=True,
        grad_scale=1.0,
        multi_output=True,
        normalization="valid",
        name="cls_prob",
    )
    loss = sym.smooth_l1(mask * (location - target), scalar=1.0, name="loc_loss_")
    loss = sym.MakeLoss(loss, grad_scale=1.0, normalization="valid", name="loc_loss")
    return sym.Group([cls_prob, loss, sym.MakeLoss(label, grad_scale=0, name="cls_label"), sym.BlockGrad(location)])


def mtcnn(mx: ModuleType, stage: str) -> Symbol:
    """The three nets of Zhang et al. 2016 (`p`, `r`, `o`): PReLU, pooling with the `full` convention, several heads."""
    sym = mx.sym
    plans = {
        "p": ((10, 3, "2/2"), (16, 3, ""), (32, 3, "")),
        "r": ((28, 3, "3/2"), (48, 3, "3/2"), (64, 2, "")),
        "o": ((32, 3, "3/2"), (64, 3, "3/2"), (64, 3, "2/2"), (128, 2, "")),
    }
    net = sym.Variable("data")
    for index, (filters, kernel, pool) in enumerate(plans[stage], start=1):
        net = sym.Convolution(net, kernel=(kernel, kernel), num_filter=filters, name=f"conv{index}")
        net = sym.LeakyReLU(net, act_type="prelu", name=f"prelu{index}")
        if pool:
            size, step = (int(number) for number in pool.split("/"))
            net = sym.Pooling(net, pool_type="max", kernel=(size, size), stride=(step, step), pooling_convention="full")
    if stage == "p":
        face = sym.Convolution(net, kernel=(1, 1), num_filter=2, name="conv4_1")
        box = sym.Convolution(net, kernel=(1, 1), num_filter=4, name="conv4_2")
        return sym.Group([sym.SoftmaxActivation(face, mode="channel", name="prob1"), box])
    net = sym.FullyConnected(net, num_hidden=128 if stage == "r" else 256, name="fc")
    if stage == "o":
        net = sym.Dropout(net, p=0.25, name="drop")
    net = sym.LeakyReLU(net, act_type="prelu", name="prelu_fc")
    face = sym.SoftmaxActivation(sym.FullyConnected(net, num_hidden=2, name="face"), name="prob1")
    heads = [face, sym.FullyConnected(net, num_hidden=4, name="box")]
    if stage == "o":
        heads.append(sym.FullyConnected(net, num_hidden=10, name="landmarks"))
    return sym.Group(heads)


def arcface(mx: ModuleType, units: tuple[int, ...] = (1, 1, 1, 1), embedding: int = 64, classes: int = 0) -> Symbol:
    """Deng et al. 2019 on its "improved" residual trunk: scalars for the input, PReLU, BatchNorm of fc1 with fix_gamma.

    Without `classes` the output is the embedding `fc1`; with them the additive angular margin head for training.
    """
    sym = mx.sym

    def norm(net: Symbol, name: str) -> Symbol:
        return sym.BatchNorm(net, fix_gamma=False, eps=2e-5, momentum=0.9, name=name)

    def conv(net: Symbol, name: str, filters: int, kernel: int, stride: int = 1) -> Symbol:
        return sym.Convolution(
            net,
            num_filter=filters,
            kernel=(kernel, kernel),
            stride=(stride, stride),
            pad=(kernel // 2, kernel // 2),
            no_bias=True,
            name=name,
        )

    def prelu(net: Symbol, name: str) -> Symbol:
        return sym.LeakyReLU(net, act_type="prelu", name=name)

    data = sym.identity(sym.Variable("data"), name="id")
    net = (data - 127.5) * 0.0078125
    net = prelu(norm(conv(net, "conv0", 16, 3), "bn0"), "prelu0")
    for stage, (count, width) in enumerate(zip(units, (16, 24, 32, 48), strict=True), start=1):
        for index in range(1, count + 1):
            name, stride = f"stage{stage}_unit{index}", 2 if index == 1 else 1
            body = conv(norm(net, f"{name}_bn1"), f"{name}_conv1", width, 3)
            body = prelu(norm(body, f"{name}_bn2"), f"{name}_prelu1")
            body = norm(conv(body, f"{name}_conv2", width, 3, stride), f"{name}_bn3")
            shortcut = norm(conv(net, f"{name}_conv1sc", width, 1, stride), f"{name}_sc") if index == 1 else net
            net = body + shortcut
    net = sym.Dropout(norm(net, "bn1"), p=0.4)
    net = sym.FullyConnected(net, num_hidden=embedding, name="pre_fc1")
    net = sym.BatchNorm(net, fix_gamma=True, eps=2e-5, momentum=0.9, name="fc1")
    if not classes:
        return net
    label = sym.Variable("softmax_label")
    weight = sym.L2Normalization(sym.Variable("fc7_weight", shape=(classes, embedding)), mode="instance")
    unit = sym.L2Normalization(net, mode="instance", name="fc1n") * 64.0
    fc7 = sym.FullyConnected(unit, weight=weight, no_bias=True, num_hidden=classes, name="fc7")
    picked = sym.pick(fc7, label, axis=1) / 64.0
    margin = sym.cos(sym.arccos(picked) + 0.5) * 64.0
    hot = sym.one_hot(label, depth=classes, on_value=1.0, off_value=0.0)
    difference = sym.expand_dims(margin - picked * 64.0, 1)
    out = sym.SoftmaxOutput(fc7 + sym.broadcast_mul(hot, difference), label, normalization="valid", name="softmax")
    return sym.Group([sym.BlockGrad(net), out])


def dcgan_generator(mx: ModuleType, width: int = 8) -> Symbol:
    """Radford et al. 2015: 1x1 noise `rand` to a 32x32 picture by Deconvolution with given target sizes."""
    sym = mx.sym
    net = sym.Variable("rand")
    for index, (filters, size) in enumerate(((width * 4, 4), (width * 2, 8), (width, 16)), start=1):
        step = {"stride": (2, 2), "target_shape": (size, size)} if index > 1 else {"stride": (1, 1)}
        net = sym.Deconvolution(net, kernel=(4, 4), num_filter=filters, no_bias=True, name=f"g{index}", **step)
        net = sym.BatchNorm(net, fix_gamma=True, eps=1e-5 + 1e-12, name=f"gbn{index}")
        net = sym.Activation(net, act_type="relu", name=f"gact{index}")
    net = sym.Deconvolution(net, kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=3, no_bias=True, name="g4")
    return sym.Activation(net, act_type="tanh", name="gact4")


def dcgan_discriminator(mx: ModuleType, width: int = 8) -> Symbol:
    sym = mx.sym
    net = sym.Variable("data")
    for index, filters in enumerate((width, width * 2, width * 4), start=1):
        net = sym.Convolution(
            net, kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=filters, no_bias=True, name=f"d{index}"
        )
        if index > 1:
            net = sym.BatchNorm(net, fix_gamma=True, name=f"dbn{index}")
        net = sym.LeakyReLU(net, act_type="leaky", slope=0.2, name=f"dact{index}")
    net = sym.Flatten(sym.Convolution(net, kernel=(4, 4), num_filter=1, no_bias=True, name="d4"))
    return sym.LogisticRegressionOutput(data=net, label=sym.Variable("label"), name="dloss")


def hourglass(mx: ModuleType, width: int = 8) -> Symbol:
    """A feature pyramid: UpSampling by nearest neighbour and, with weights, bilinear; regression of heat maps."""
    sym = mx.sym

    def conv(net: Symbol, name: str, stride: int = 1) -> Symbol:
        net = sym.Convolution(net, kernel=(3, 3), pad=(1, 1), stride=(stride, stride), num_filter=width, name=name)
        return sym.relu(net, name=f"{name}_relu")

    top = conv(sym.Variable("data"), "c1")
    middle = conv(top, "c2", 2)
    low = conv(middle, "c3", 2)
    middle = middle + sym.UpSampling(low, scale=2, sample_type="nearest", name="up3")
    up = sym.UpSampling(
        middle, sym.Variable("up2_weight"), scale=2, sample_type="bilinear", num_filter=width, name="up2"
    )
    heat = sym.Convolution(top + up, kernel=(1, 1), num_filter=4, name="heat")
    return sym.LinearRegressionOutput(heat, sym.Variable("heat_label"), name="regression")


def super_resolution(mx: ModuleType, factor: int = 2, width: int = 16) -> Symbol:
    """Shi et al. 2016: the pixel shuffle written with reshape codes and a transpose."""
    sym = mx.sym
    net = sym.Variable("data")
    for index, filters in enumerate((width, width, factor * factor), start=1):
        net = sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=filters, name=f"conv{index}")
        if index < 3:
            net = sym.Activation(net, act_type="relu")
    net = sym.reshape(net, shape=(0, -4, -1, factor * factor, 0, 0))
    net = sym.reshape(net, shape=(0, 0, -4, factor, factor, 0, 0))
    net = sym.transpose(net, axes=(0, 1, 4, 2, 5, 3))
    return sym.reshape(net, shape=(0, 0, -3, -3), name="picture")


def autoencoder(mx: ModuleType, widths: tuple[int, ...] = (64, 32, 8)) -> Symbol:
    sym = mx.sym
    data = sym.Variable("data")
    net = data
    for index, width in enumerate((*widths, *reversed(widths[:-1]))):
        net = sym.Activation(sym.FullyConnected(net, num_hidden=width, name=f"layer{index}"), act_type="sigmoid")
    net = sym.FullyConnected(net, num_hidden=784, name="decoded")
    return sym.LinearRegressionOutput(net, data, name="reconstruction")


def matrix_factorization(mx: ModuleType, users: int = 30, items: int = 20, factors: int = 8) -> Symbol:
    sym = mx.sym
    user = sym.Embedding(sym.Variable("user"), input_dim=users, output_dim=factors, name="user_embedding")
    item = sym.Embedding(sym.Variable("item"), input_dim=items, output_dim=factors, name="item_embedding")
    score = sym.Flatten(sym.sum_axis(user * item, axis=1))
    return sym.LinearRegressionOutput(score, sym.Variable("score"), name="lro")


def text_cnn(mx: ModuleType, length: int = 16, vocabulary: int = 50, width: int = 12, classes: int = 2) -> Symbol:
    """Kim 2014: windows of 3, 4 and 5 words, max over time, no softmax label named by hand."""
    sym = mx.sym
    net = sym.Embedding(sym.Variable("data"), input_dim=vocabulary, output_dim=width, name="vocab_embed")
    net = sym.Reshape(net, shape=(-1, 1, length, width))
    pooled = []
    for window in (3, 4, 5):
        part = sym.Activation(sym.Convolution(net, kernel=(window, width), num_filter=10), act_type="relu")
        pooled.append(sym.Pooling(part, pool_type="max", kernel=(length - window + 1, 1), stride=(1, 1)))
    net = sym.Reshape(sym.Concat(*pooled, dim=1), shape=(-1, 30))
    net = sym.FullyConnected(sym.Dropout(net, p=0.5), num_hidden=classes, name="fc")
    return sym.SoftmaxOutput(net, sym.Variable("softmax_label"), name="softmax")


def svm_mlp(mx: ModuleType, classes: int = 10) -> Symbol:
    sym = mx.sym
    net = sym.Activation(sym.FullyConnected(sym.Variable("data"), num_hidden=32, name="fc1"), act_type="relu")
    net = sym.FullyConnected(net, num_hidden=classes, name="fc2")
    return sym.SVMOutput(net, regularization_coefficient=0.5, use_linear=True, name="svm")
