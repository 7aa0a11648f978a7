"""Inception of version 3."""

from __future__ import annotations

from typing import Any

from graphir.converters.mxnet.mx.gluon import nn
from graphir.converters.mxnet.mx.gluon.contrib.nn import HybridConcurrent
from graphir.converters.mxnet.mx.gluon.model_zoo.vision.plain import Classifier, chain, conv_bn, relu

Branch = tuple[Any, ...]
SEVEN = (1, 7), 1, (0, 3)
SEVEN_DOWN = (7, 1), 1, (3, 0)
AVERAGE, MAXIMUM = "average", "maximum"


def _inception_a(pooled: int) -> list[Branch]:
    return [
        ((64, 1),), ((48, 1), (64, 5, 1, 2)), ((64, 1), (96, 3, 1, 1), (96, 3, 1, 1)), (AVERAGE, (pooled, 1)),
    ]  # fmt: skip


def _inception_c(narrow: int) -> list[Branch]:
    across, down = (narrow, *SEVEN), (narrow, *SEVEN_DOWN)
    long = ((narrow, 1), down, across, down, (192, *SEVEN))
    return [((192, 1),), ((narrow, 1), across, (192, *SEVEN_DOWN)), long, (AVERAGE, (192, 1))]


_BOTH = [((384, (1, 3), 1, (0, 1)),), ((384, (3, 1), 1, (1, 0)),)]
_INCEPTION_B: list[Branch] = [((384, 3, 2),), ((64, 1), (96, 3, 1, 1), (96, 3, 2)), (MAXIMUM,)]
_INCEPTION_D: list[Branch] = [
    ((192, 1), (320, 3, 2)), ((192, 1), (192, *SEVEN), (192, *SEVEN_DOWN), (192, 3, 2)), (MAXIMUM,),
]  # fmt: skip
_INCEPTION_E: list[Branch] = [
    ((320, 1),), ((384, 1), _BOTH), ((448, 1), (384, 3, 1, 1), _BOTH), (AVERAGE, (192, 1)),
]  # fmt: skip
INCEPTION: list[tuple[str, list[Branch]]] = [
    ("A1_", _inception_a(32)), ("A2_", _inception_a(64)), ("A3_", _inception_a(64)), ("B_", _INCEPTION_B),
    *((f"C{number}_", _inception_c(narrow)) for number, narrow in enumerate((128, 160, 160, 192), 1)),
    ("D_", _INCEPTION_D), ("E1_", _INCEPTION_E), ("E2_", _INCEPTION_E),
]  # fmt: skip
"""Modules by prefix: branches beside each other, each of convolutions (channels, kernel, stride, pad)."""


def _branches(rows: list[Branch], prefix: str) -> HybridConcurrent:
    beside = HybridConcurrent(axis=1, prefix=prefix)
    with beside.name_scope():
        for row in rows:
            beside.add(_branch(row))
    return beside


def _branch(row: Branch) -> nn.HybridSequential:
    """Return a branch; its convolutions stand in a chain of their own where others split from it."""
    convolutions = [step for step in row if not isinstance(step, list)]
    straight = chain()
    for step in convolutions:
        if step == AVERAGE:
            straight.add(nn.AvgPool2D(3, 1, 1))
        elif step == MAXIMUM:
            straight.add(nn.MaxPool2D(3, 2))
        else:
            straight.add(chain(*conv_bn(*step, epsilon=0.001), relu()))
    if len(convolutions) == len(row):
        return straight
    return chain(straight, _branches(row[-1], ""))


class Inception3(Classifier):
    """Inception of version 3 (arXiv 1512.00567)."""

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)

        def conv(*row: int) -> nn.HybridSequential:
            return chain(*conv_bn(*row, epsilon=0.001), relu())

        with self.name_scope():
            self.features = chain(conv(32, 3, 2), conv(32, 3), conv(64, 3, 1, 1), nn.MaxPool2D(3, 2))
            self.features.add(conv(80, 1), conv(192, 3), nn.MaxPool2D(3, 2))
            self.features.add(*(_branches(rows, prefix) for prefix, rows in INCEPTION))
            self.features.add(nn.AvgPool2D(8), nn.Dropout(0.5))
            self.output = nn.Dense(classes)
