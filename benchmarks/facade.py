"""What MXNet's API costs in graphir beside live MXNet 1.9.1: inference, operators on arrays, binding, running.

    python benchmarks/facade.py [--only infer_shape,bind] [--repeats 7] [--layers 1000]

Both run in one process, in turns (A B A B ...), which needs an interpreter that imports MXNet. A figure is the CPU time
(user and system, all threads) of one call; the least of the repeats counts. Calls of both end with `waitall`, so
that what MXNet's threads do is counted. A new shape is another one at each call, a known one was seen before.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
LAYERS = (3, 4, 6, 3)
CHANNELS = (256, 512, 1024, 2048)
IMAGE = (1, 3, 224, 224)
Action = Callable[[], object]
Case = Callable[[Any, argparse.Namespace], Action]


def deep_symbol(mx: Any, layers: int) -> Any:
    """Return a network of convolutions, normalisations and activations, `layers` nodes and their parameters."""
    data = mx.sym.Variable("data")
    for index in range(layers // 4):
        before = data
        data = mx.sym.Convolution(data, num_filter=16, kernel=(3, 3), pad=(1, 1), name=f"conv{index}")
        data = mx.sym.BatchNorm(data, name=f"norm{index}")
        data = mx.sym.Activation(data, act_type="relu", name=f"relu{index}")
        data = data + before if index else data
    return data


def bottleneck(mx: Any, data: Any, channels: int, stride: int, name: str, shortcut: Any) -> Any:
    """Return one block of ResNet-50."""
    sizes = ((channels // 4, 1, 1), (channels // 4, 3, stride), (channels, 1, 1))
    body = data
    for index, (count, kernel, step) in enumerate(sizes):
        body = mx.sym.Convolution(
            body, num_filter=count, kernel=(kernel, kernel), stride=(step, step), pad=(kernel // 2,) * 2,
            no_bias=True, name=f"{name}_conv{index}",
        )  # fmt: skip
        body = mx.sym.BatchNorm(body, fix_gamma=False, name=f"{name}_norm{index}")
        if index < 2:
            body = mx.sym.Activation(body, act_type="relu", name=f"{name}_relu{index}")
    if shortcut is None:
        shortcut = mx.sym.Convolution(
            data, num_filter=channels, kernel=(1, 1), stride=(stride, stride), no_bias=True, name=f"{name}_side"
        )
        shortcut = mx.sym.BatchNorm(shortcut, fix_gamma=False, name=f"{name}_side_norm")
    return mx.sym.Activation(body + shortcut, act_type="relu", name=f"{name}_relu")


def resnet_symbol(mx: Any) -> Any:
    """Return ResNet-50."""
    data = mx.sym.Variable("data")
    data = mx.sym.Convolution(
        data, num_filter=64, kernel=(7, 7), stride=(2, 2), pad=(3, 3), no_bias=True, name="first"
    )
    data = mx.sym.Activation(mx.sym.BatchNorm(data, fix_gamma=False, name="norm"), act_type="relu", name="relu")
    data = mx.sym.Pooling(data, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max", name="pool")
    for stage, (count, channels) in enumerate(zip(LAYERS, CHANNELS, strict=True)):
        for index in range(count):
            stride = 2 if stage and not index else 1
            data = bottleneck(mx, data, channels, stride, f"s{stage}_{index}", data if index else None)
    data = mx.sym.Pooling(data, global_pool=True, pool_type="avg", kernel=(7, 7), name="last")
    return mx.sym.FullyConnected(mx.sym.Flatten(data), num_hidden=1000, name="scores")


def infer_shape(mx: Any, options: argparse.Namespace) -> Action:
    """A call for a shape that was not seen before."""
    symbol, batches = deep_symbol(mx, options.layers), itertools.count(1)
    return lambda: symbol.infer_shape(data=(next(batches), 16, 32, 32))


def infer_resnet(mx: Any, options: argparse.Namespace) -> Action:
    """The same for ResNet-50, of whose nodes few are alike."""
    symbol, batches = resnet_symbol(mx), itertools.count(1)
    return lambda: symbol.infer_shape(data=(next(batches), *IMAGE[1:]))


def infer_resnet_again(mx: Any, options: argparse.Namespace) -> Action:
    """The same for a shape that was seen."""
    symbol = resnet_symbol(mx)
    return lambda: symbol.infer_shape(data=IMAGE)


def infer_type(mx: Any, options: argparse.Namespace) -> Action:
    """A call with the input's dtype."""
    symbol = deep_symbol(mx, options.layers)
    return lambda: symbol.infer_type(data=np.float32)


def infer_unstated_type(mx: Any, options: argparse.Namespace) -> Action:
    """A call without any dtype."""
    symbol = deep_symbol(mx, options.layers)
    return lambda: symbol.infer_type()


def new_shapes(function: Callable[[Any, Any], object], shape: tuple[int, ...]) -> Case:
    """Return a case of arrays of another shape at each call, `shape` or a little larger."""

    def prepare(mx: Any, options: argparse.Namespace) -> Action:
        count = options.calls * (options.repeats + 3)
        arrays = iter([mx.nd.ones((*shape[:-1], shape[-1] + size)) for size in range(count)])
        return lambda: [function(mx, next(arrays)) for _ in range(options.calls)]

    return prepare


def known_shape(function: Callable[[Any, Any], object], shape: tuple[int, ...]) -> Case:
    """Return a case of one array."""

    def prepare(mx: Any, options: argparse.Namespace) -> Action:
        array = mx.nd.array(np.random.default_rng(1).normal(size=shape))
        return lambda: [function(mx, array) for _ in range(options.calls)]

    return prepare


OPERATORS: dict[str, Callable[[Any, Any], object]] = {
    "relu": lambda mx, array: mx.nd.relu(array),
    "softmax": lambda mx, array: mx.nd.softmax(array, axis=-1),
    "transpose": lambda mx, array: mx.nd.transpose(array, axes=(2, 0, 1)),
    "concat": lambda mx, array: mx.nd.concat(array, array, dim=1),
    "sum": lambda mx, array: mx.nd.sum(array, axis=1),
    "broadcast_mul": lambda mx, array: mx.nd.broadcast_mul(array, array),
    "clip": lambda mx, array: array.clip(0, 1),
    "+": lambda mx, array: array + array,
}


def all_operators(mx: Any, array: Any) -> None:
    """Call each operator."""
    for function in OPERATORS.values():
        function(mx, array)


def convolution(mx: Any, array: Any) -> object:
    """Convolve an array whose second axis has 16 channels."""
    return mx.nd.Convolution(array, mx.nd.ones((8, 16, 3)), num_filter=8, kernel=(3,), no_bias=True)


SMALL, LARGE, IMAGES = (2, 3, 40), (8, 64, 56), (8, 16, 1000)


def resnet_arrays(mx: Any, symbol: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return arrays for all arguments and states, of small random numbers."""
    shapes, _, states = symbol.infer_shape(data=IMAGE)
    random = np.random.default_rng(0)

    def draw(names: Any, sizes: Any) -> dict[str, Any]:
        return {name: mx.nd.array(random.uniform(0.01, 0.05, shape)) for name, shape in zip(names, sizes, strict=True)}

    return draw(symbol.list_arguments(), shapes), draw(symbol.list_auxiliary_states(), states)


def bind(mx: Any, options: argparse.Namespace) -> Action:
    """`bind` of ResNet-50 alone."""
    symbol = resnet_symbol(mx)
    arguments, states = resnet_arrays(mx, symbol)
    return lambda: symbol.bind(mx.cpu(), arguments, grad_req="null", aux_states=states)


def bind_and_run(mx: Any, options: argparse.Namespace) -> Action:
    """`bind` of ResNet-50 and the first `forward`."""
    action = bind(mx, options)
    return lambda: action().forward()[0].wait_to_read()  # type: ignore[attr-defined]


def forward(mx: Any, options: argparse.Namespace) -> Action:
    """A further `forward` of ResNet-50."""
    executor: Any = bind(mx, options)()
    return lambda: executor.forward()[0].wait_to_read()


CASES: dict[str, Case] = {
    "infer_shape": infer_shape,
    "infer_shape, ResNet-50, a new batch": infer_resnet,
    "infer_shape, ResNet-50, a known one": infer_resnet_again,
    "infer_type": infer_type,
    "infer_type without dtypes": infer_unstated_type,
    "nd, new shapes": new_shapes(all_operators, SMALL),
    "nd, new shapes, large": new_shapes(all_operators, LARGE),
    "nd, new shapes, Convolution": new_shapes(convolution, IMAGES),
    "nd, known shape": known_shape(all_operators, SMALL),
    "nd, known shape, large": known_shape(all_operators, LARGE),
    "nd, known shape, Convolution": known_shape(convolution, IMAGES),
    **{f"one, {name}": known_shape(function, SMALL) for name, function in OPERATORS.items()},
    **{f"one, {name}, large": known_shape(function, LARGE) for name, function in OPERATORS.items()},
    "bind": bind,
    "bind and first forward": bind_and_run,
    "forward": forward,
}


def timed(action: Action, wait: Action) -> float:
    """Return the CPU seconds of a call."""
    started = time.process_time()
    action()
    wait()
    return time.process_time() - started


def frameworks() -> Iterator[Any]:
    """Give graphir's `mx` and MXNet itself."""
    from graphir.converters.mxnet import mx

    yield mx
    warnings.simplefilter("ignore")
    for name in ("bool", "object", "int", "float"):
        if name not in vars(np):
            setattr(np, name, getattr(__import__("builtins"), name))
    import mxnet

    yield mxnet


def main() -> int:
    parser = argparse.ArgumentParser(description="CPU time of MXNet's API in graphir beside MXNet's.")
    parser.add_argument("--only", default="", help="beginnings of the names of cases, with commas")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--layers", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=20, help="of each operator in one repeat")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    pair = list(frameworks())
    chosen = [name for name in CASES if not options.only or name.startswith(tuple(options.only.split(",")))]
    print("| case | graphir ms | MXNet ms | ratio |\n|---|---:|---:|---:|")
    for name in chosen:
        actions = [CASES[name](mx, options) for mx in pair]
        seconds = [[timed(action, mx.nd.waitall) for action, mx in zip(actions, pair, strict=True)]
                   for _ in range(options.repeats + 1)][1:]  # fmt: skip
        ours, theirs = (min(row) * 1e3 for row in zip(*seconds, strict=True))
        print(f"| {name} | {ours:.3g} | {theirs:.3g} | {ours / theirs:.1f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
