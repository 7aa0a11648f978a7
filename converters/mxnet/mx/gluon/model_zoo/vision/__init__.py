"""`mx.gluon.model_zoo.vision`: networks that classify images, with MXNet's names of parameters.

Each family has a builder, and each network a row of `MODELS`. Their weights are not here: `pretrained=True` reads them
from a file.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from graphir.converters.mxnet.mx.gluon.model_zoo.model_store import default_root, get_model_file
from graphir.converters.mxnet.mx.gluon.model_zoo.vision.inception import Inception3
from graphir.converters.mxnet.mx.gluon.model_zoo.vision.mobilenet import RELU6, LinearBottleneck, MobileNet, MobileNetV2
from graphir.converters.mxnet.mx.gluon.model_zoo.vision.plain import FIRES, VGG, AlexNet, DenseNet, SqueezeNet
from graphir.converters.mxnet.mx.gluon.model_zoo.vision.resnet import (
    BasicBlockV1,
    BasicBlockV2,
    BottleneckV1,
    BottleneckV2,
    ResNetV1,
    ResNetV2,
    resnet_block_versions,
    resnet_net_versions,
    resnet_spec,
)

vgg_spec = {
    depth: (layers, [64, 128, 256, 512, 512])
    for depth, layers in {11: [1, 1, 2, 2, 2], 13: [2] * 5, 16: [2, 2, 3, 3, 3], 19: [2, 2, 4, 4, 4]}.items()
}
densenet_spec = {
    121: (64, 32, [6, 12, 24, 16]),
    161: (96, 48, [6, 12, 36, 24]),
    169: (64, 32, [6, 12, 32, 32]),
    201: (64, 32, [6, 12, 48, 32]),
}


def _loaded(network: Any, name: str, pretrained: bool, ctx: Any, root: str | None) -> Any:
    """Return the network, with the weights of its file if it is `pretrained`."""
    if pretrained:
        network.load_parameters(get_model_file(name, root=root or default_root()), ctx=ctx)
    return network


def _resnet(version: int, depth: int, **kwargs: Any) -> Any:
    block, layers, channels = resnet_spec[depth]
    return resnet_net_versions[version - 1](resnet_block_versions[version - 1][block], layers, channels, **kwargs)


def _multiplied(family: type, multiplier: float) -> Callable[..., Any]:
    return functools.partial(family, multiplier)


MODELS: dict[str, Callable[..., Any]] = {
    "alexnet": AlexNet,
    **{f"densenet{depth}": functools.partial(DenseNet, *row) for depth, row in densenet_spec.items()},
    "inceptionv3": Inception3,
    **{f"mobilenet{text}": _multiplied(MobileNet, float(text)) for text in ("1.0", "0.75", "0.5", "0.25")},
    **{f"mobilenetv2_{text}": _multiplied(MobileNetV2, float(text)) for text in ("1.0", "0.75", "0.5", "0.25")},
    **{f"resnet{depth}_v{version}": functools.partial(_resnet, version, depth)
       for version in (1, 2) for depth in resnet_spec},
    **{f"squeezenet{version}": functools.partial(SqueezeNet, version) for version in FIRES},
    **{f"vgg{depth}": functools.partial(VGG, *row) for depth, row in vgg_spec.items()},
    **{f"vgg{depth}_bn": functools.partial(VGG, *row, batch_norm=True) for depth, row in vgg_spec.items()},
}  # fmt: skip
"""The networks by the names of `get_model`."""


def get_model(name: str, *, pretrained: bool = False, ctx: Any = None, root: str | None = None, **kwargs: Any) -> Any:
    """Return a network by name. Raises ValueError for an unknown name, MXNetError for weights that are not here."""
    key = name.lower()
    if key not in MODELS:
        raise ValueError(f"Model {key} is not supported. Available options are\n\t" + "\n\t".join(sorted(MODELS)))
    return _loaded(MODELS[key](**kwargs), key, pretrained, ctx, root)


def get_resnet(version: int, num_layers: int, **kwargs: Any) -> Any:
    """Return a ResNet by its version and depth."""
    if num_layers not in resnet_spec or version not in (1, 2):
        raise AssertionError(f"there is no ResNet of version {version} with {num_layers} layers")
    return get_model(f"resnet{num_layers}_v{version}", **kwargs)


def get_vgg(num_layers: int, **kwargs: Any) -> Any:
    """Return a VGG by its depth."""
    return get_model(f"vgg{num_layers}{'_bn' if kwargs.pop('batch_norm', False) else ''}", **kwargs)


def get_densenet(num_layers: int, **kwargs: Any) -> Any:
    """Return a DenseNet by its depth."""
    return get_model(f"densenet{num_layers}", **kwargs)


def get_squeezenet(version: str, **kwargs: Any) -> Any:
    """Return a SqueezeNet by its version."""
    return get_model(f"squeezenet{version}", **kwargs)


def _mobilenet(name: str, family: type, multiplier: float, kwargs: dict[str, Any]) -> Any:
    text = f"{multiplier:.2f}"
    options = [kwargs.pop(key, default) for key, default in (("pretrained", False), ("ctx", None), ("root", None))]
    file = f"{name}{text[:-1] if text in ('1.00', '0.50') else text}"
    return _loaded(family(multiplier, **kwargs), file, *options)


def get_mobilenet(multiplier: float, **kwargs: Any) -> Any:
    """Return a MobileNet by the factor of its channels."""
    return _mobilenet("mobilenet", MobileNet, multiplier, kwargs)


def get_mobilenet_v2(multiplier: float, **kwargs: Any) -> Any:
    """Return a MobileNet of version 2 by the factor of its channels."""
    return _mobilenet("mobilenetv2_", MobileNetV2, multiplier, kwargs)


def _function_name(model: str) -> str:
    """Return the name of the function that makes a network.

    >>> _function_name("mobilenetv2_0.5"), _function_name("squeezenet1.0"), _function_name("inceptionv3")
    ('mobilenet_v2_0_5', 'squeezenet1_0', 'inception_v3')
    """
    return model.replace("netv2", "net_v2").replace("nv3", "n_v3").replace(".", "_")


FUNCTIONS = {_function_name(name): functools.partial(get_model, name) for name in MODELS}
globals().update(FUNCTIONS)

__all__ = [
    "AlexNet", "BasicBlockV1", "BasicBlockV2", "BottleneckV1", "BottleneckV2", "DenseNet", "Inception3",
    "LinearBottleneck", "MobileNet", "MobileNetV2", "RELU6", "ResNetV1", "ResNetV2", "SqueezeNet", "VGG",
    "get_densenet", "get_mobilenet", "get_mobilenet_v2", "get_model", "get_resnet", "get_squeezenet", "get_vgg",
    *FUNCTIONS,
]  # fmt: skip
