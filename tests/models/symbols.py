"""The table of symbol-API classics: how each is built, and the shapes that it is captured with.

The builders lie in the files `nets_*`; the sizes here are small, so that a capture of all
of them takes a minute or two. Nothing in these files imports MXNet before it is asked to.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from tests.models import nets_dense as dense
from tests.models import nets_inception as inception
from tests.models import nets_recurrent as recurrent
from tests.models import nets_vision as vision

Shape = tuple[int, ...]
REMOVED_FROM_NUMPY = {"bool": bool, "object": object, "int": int, "float": float, "complex": complex, "str": str}


def import_mxnet() -> ModuleType:
    """MXNet 1.9.1 uses six names that NumPy 1.24 removed; give back those that are missing."""
    import numpy as np

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, builtin in REMOVED_FROM_NUMPY.items():
            if not hasattr(np, name):
                setattr(np, name, builtin)
        import mxnet

    return mxnet


@dataclass(frozen=True)
class Classic:
    """One network: `build(mx)` gives its Symbol.

    `data` are the inputs that carry a batch, `labels` those that only a loss head reads (zero when captured),
    `indices` the inputs that hold integers below a bound. `needs_onednn`: the fused RNN operator refuses without it.
    """

    build: Callable[[ModuleType], Any]
    data: Mapping[str, Shape]
    labels: Mapping[str, Shape] = field(default_factory=dict)
    indices: Mapping[str, int] = field(default_factory=dict)
    needs_onednn: bool = False

    def symbol(self, mx: ModuleType | None = None) -> Any:
        """The Symbol from `mx`, or from live MXNet. Automatic names start from zero each time."""
        mx = mx or import_mxnet()
        with mx.name.NameManager():
            return self.build(mx)


def classifier(build: Callable[..., Any], shape: Shape, **options: Any) -> Classic:
    """A classifier of pictures or vectors under one SoftmaxOutput named `softmax`."""
    return Classic(functools.partial(build, **options), {"data": shape}, {"softmax_label": shape[:1]})


def sentences(build: Callable[..., Any], needs_onednn: bool = False, **options: Any) -> Classic:
    """A language model over (3, 5) words of a vocabulary of 20."""
    return Classic(
        functools.partial(build, **options),
        {"data": (3, 5)},
        {"softmax_label": (3, 5)},
        {"data": 20},
        needs_onednn,
    )


THIN = (16, 16, 32, 64)
WIDE = (64, 64, 128, 256, 512)
BOTTLENECK = (64, 256, 512, 1024, 2048)
SSD_ANCHORS = 4 * (16 * 16 + 8 * 8 + 4 * 4)

CLASSICS: dict[str, Classic] = {
    "mlp": classifier(vision.mlp, (2, 784)),
    "lenet": classifier(vision.lenet, (2, 1, 28, 28)),
    "alexnet": classifier(vision.alexnet, (1, 3, 224, 224), classes=100, hidden=256),
    "vgg11": classifier(vision.vgg, (1, 3, 64, 64), depth=11, classes=100, hidden=256),
    "vgg11_bn": classifier(vision.vgg, (1, 3, 64, 64), depth=11, batch_norm=True, classes=100, hidden=256),
    "vgg16": classifier(vision.vgg, (1, 3, 64, 64), depth=16, classes=100, hidden=256),
    "vgg16_bn": classifier(vision.vgg, (1, 3, 64, 64), depth=16, batch_norm=True, classes=100, hidden=256),
    "googlenet": classifier(inception.googlenet, (1, 3, 128, 128)),
    "inception_bn": classifier(inception.inception_bn, (1, 3, 128, 128)),
    "inception_v3": classifier(inception.inception_v3, (1, 3, 299, 299)),
    "inception_resnet_v2": classifier(inception.inception_resnet_v2, (1, 3, 139, 139), repeats=(2, 2, 2)),
    "resnet_v1_18": classifier(
        vision.resnet_v1, (1, 3, 64, 64), units=(2, 2, 2, 2), filters=WIDE, bottleneck=False, classes=100
    ),
    "resnet_v1_50": classifier(
        vision.resnet_v1, (1, 3, 64, 64), units=(3, 4, 6, 3), filters=BOTTLENECK, bottleneck=True, classes=100
    ),
    "resnet_v2_18": classifier(
        vision.resnet_v2, (1, 3, 64, 64), units=(2, 2, 2, 2), filters=WIDE, bottleneck=False, classes=100
    ),
    "resnet_v2_50": classifier(
        vision.resnet_v2, (1, 3, 64, 64), units=(3, 4, 6, 3), filters=BOTTLENECK, bottleneck=True, classes=100
    ),
    "resnet_v2_cifar20": classifier(
        vision.resnet_v2, (2, 3, 32, 32), units=(3, 3, 3), filters=THIN, bottleneck=False, classes=10
    ),
    "resnext26": classifier(
        vision.resnet_v1,
        (1, 3, 64, 64),
        units=(2, 2, 2, 2),
        filters=BOTTLENECK,
        bottleneck=True,
        classes=100,
        groups=32,
    ),
    "mobilenet": classifier(vision.mobilenet, (1, 3, 96, 96)),
    "mobilenet_v2": classifier(vision.mobilenet_v2, (1, 3, 96, 96), multiplier=0.5),
    "squeezenet": classifier(vision.squeezenet, (1, 3, 96, 96)),
    "densenet": classifier(vision.densenet, (1, 3, 64, 64), blocks=(3, 4, 3), growth=12, classes=100),
    "fcn32s": Classic(
        functools.partial(dense.fcn, stride=32), {"data": (1, 3, 60, 84)}, {"softmax_label": (1, 60, 84)}
    ),
    "fcn16s": Classic(
        functools.partial(dense.fcn, stride=16), {"data": (1, 3, 60, 84)}, {"softmax_label": (1, 60, 84)}
    ),
    "fcn8s": Classic(functools.partial(dense.fcn, stride=8), {"data": (1, 3, 60, 84)}, {"softmax_label": (1, 60, 84)}),
    "unet": Classic(dense.unet, {"data": (1, 1, 32, 48)}, {"logistic_label": (1, 2, 32, 48)}),
    "ssd_deploy": Classic(dense.ssd, {"data": (2, 3, 32, 32)}),
    "ssd_train": Classic(
        functools.partial(dense.ssd, train=True),
        {"data": (2, 3, 32, 32)},
        {
            "cls_target": (2, SSD_ANCHORS),
            "loc_target": (2, 4 * SSD_ANCHORS),
            "loc_target_mask": (2, 4 * SSD_ANCHORS),
        },
    ),
    "mtcnn_p": Classic(functools.partial(dense.mtcnn, stage="p"), {"data": (1, 3, 37, 50)}),
    "mtcnn_r": Classic(functools.partial(dense.mtcnn, stage="r"), {"data": (2, 3, 24, 24)}),
    "mtcnn_o": Classic(functools.partial(dense.mtcnn, stage="o"), {"data": (2, 3, 48, 48)}),
    "arcface": Classic(dense.arcface, {"data": (2, 3, 48, 48)}),
    "arcface_train": Classic(
        functools.partial(dense.arcface, classes=12), {"data": (2, 3, 48, 48)}, {"softmax_label": (2,)}
    ),
    "dcgan_generator": Classic(dense.dcgan_generator, {"rand": (2, 16, 1, 1)}),
    "dcgan_discriminator": Classic(dense.dcgan_discriminator, {"data": (2, 3, 32, 32)}, {"label": (2, 1)}),
    "hourglass": Classic(dense.hourglass, {"data": (1, 3, 16, 24)}, {"heat_label": (1, 4, 16, 24)}),
    "super_resolution": Classic(dense.super_resolution, {"data": (2, 1, 12, 10)}),
    "autoencoder": Classic(dense.autoencoder, {"data": (2, 784)}),
    "matrix_factorization": Classic(
        dense.matrix_factorization, {"user": (4,), "item": (4,)}, {"score": (4,)}, {"user": 30, "item": 20}
    ),
    "text_cnn": Classic(dense.text_cnn, {"data": (3, 16)}, {"softmax_label": (3,)}, {"data": 50}),
    "svm_mlp": Classic(dense.svm_mlp, {"data": (4, 20)}, {"svm_label": (4,)}),
    "lstm_by_hand": Classic(
        recurrent.lstm_by_hand,
        {"data": (3, 4)} | {f"l{layer}_init_{kind}": (3, 8) for layer in (0, 1) for kind in "ch"},
        {"softmax_label": (3, 4)},
        {"data": 20},
    ),
    "lstm_unrolled": sentences(recurrent.stacked, kind="lstm"),
    "gru_unrolled": sentences(recurrent.stacked, kind="gru"),
    "rnn_unrolled": sentences(recurrent.stacked, kind="rnn"),
    "bi_lstm_unrolled": sentences(recurrent.bidirectional),
    "fused_lstm": sentences(recurrent.fused, needs_onednn=True, mode="lstm"),
    "fused_gru": sentences(recurrent.fused, needs_onednn=True, mode="gru"),
    "fused_rnn_tanh": sentences(recurrent.fused, needs_onednn=True, mode="rnn_tanh", layers=1),
    "fused_rnn_relu": sentences(recurrent.fused, needs_onednn=True, mode="rnn_relu", layers=1),
    "fused_bi_lstm": sentences(recurrent.fused, needs_onednn=True, mode="lstm", two_ways=True),
    "fused_bi_gru": sentences(recurrent.fused, needs_onednn=True, mode="gru", layers=1, two_ways=True),
    "fused_with_states": Classic(
        recurrent.fused_with_states,
        {"data": (5, 3, 6), "state": (1, 3, 8), "state_cell": (1, 3, 8)},
        needs_onednn=True,
    ),
    "crnn": Classic(recurrent.crnn, {"data": (2, 1, 16, 32)}),
}
