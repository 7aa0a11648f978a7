"""The networks on which memory plans are judged: chains, residual networks and recurrences with their stages marked.

Builders take the `mx` module first and return a Symbol. A stage, where recomputation may begin, is marked by
`mirror_stage`: 'True', or one name for the values that belong together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

Symbol = Any
Shapes = dict[str, Any]
BATCH = 32
PICTURES: Shapes = {"data": (BATCH, 3, 224, 224)}


def mlp(mx: ModuleType, layers: int = 12, width: int = 256) -> Symbol:
    """Fully connected layers of one width, each with a relu."""
    net = mx.sym.Variable("data")
    for layer in range(layers):
        net = mx.sym.FullyConnected(net, num_hidden=width, name=f"fc{layer}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{layer}")
        net._set_attr(mirror_stage="True")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def residual(mx: ModuleType, units: tuple[int, int, int, int]) -> Symbol:
    """Bottleneck units of convolution, normalization and leaky rectifier; what is added to their results is a stage."""
    sym = mx.sym

    def block(net: Symbol, count: int, size: int, stride: int = 1) -> Symbol:
        pad = size // 2
        net = sym.Convolution(
            data=net, kernel=(size, size), stride=(stride, stride), pad=(pad, pad), num_filter=count
        )
        return sym.LeakyReLU(data=sym.BatchNorm(data=net, fix_gamma=True), act_type="leaky")

    net = block(sym.Variable("data"), 64, 7, 2)
    net = sym.Pooling(data=net, pool_type="max", kernel=(3, 3), stride=(2, 2))
    for stage, count in enumerate(units):
        width = 64 << stage
        for index in range(count):
            stride = 2 if stage and not index else 1
            body = block(block(block(net, width, 1), width, 3, stride), width * 4, 1)
            shortcut = net if index else block(net, width * 4, 1, stride)
            shortcut._set_attr(mirror_stage="True")
            net = shortcut + body
    net = sym.Pooling(data=net, kernel=(7, 7), stride=(1, 1), pool_type="avg", name="global_pool")
    net = sym.FullyConnected(data=sym.Flatten(data=net, name="flatten"), num_hidden=1000, name="fc1")
    return sym.SoftmaxOutput(data=net, name="softmax")


def preactivated(mx: ModuleType, units: tuple[int, ...], bottleneck: bool) -> Symbol:
    """ResNet v2 for large images; what each unit adds to its own result, its shortcut, is a stage."""
    sym = mx.sym

    def normed(net: Symbol, name: str, number: str) -> Symbol:
        net = sym.BatchNorm(data=net, fix_gamma=False, eps=2e-5, momentum=0.9, name=f"{name}bn{number}")
        return sym.Activation(data=net, act_type="relu", name=f"{name}relu{number}")

    def conv(net: Symbol, name: str, count: int, size: int, stride: int = 1) -> Symbol:
        window = {"kernel": (size, size), "stride": (stride, stride), "pad": (size // 2, size // 2)}
        return sym.Convolution(data=net, num_filter=count, no_bias=True, workspace=256, name=name, **window)

    net = sym.BatchNorm(data=sym.Variable("data"), fix_gamma=True, eps=2e-5, momentum=0.9, name="bn_data")
    net = normed(conv(net, "conv0", 64, 7, 2), "", "0")
    net = sym.Pooling(data=net, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max", name="pooling0")
    for stage, count in enumerate(units):
        width = 64 << stage
        sizes = ((width, 1), (width, 3), (4 * width, 1)) if bottleneck else ((width, 3), (width, 3))
        for index in range(count):
            name, stride = f"stage{stage + 1}_unit{index + 1}_", 2 if stage and not index else 1
            body = first = normed(net, name, "1")
            for number, (filters, size) in enumerate(sizes, 1):
                if number > 1:
                    body = normed(body, name, str(number))
                strided = stride if size == 3 and number == (2 if bottleneck else 1) else 1
                body = conv(body, f"{name}conv{number}", filters, size, strided)
            shortcut = net if index else conv(first, f"{name}sc", sizes[-1][0], 1, stride)
            shortcut._set_attr(mirror_stage="True")
            net = body + shortcut
    net = sym.Pooling(data=normed(net, "", "1"), global_pool=True, kernel=(7, 7), pool_type="avg", name="pool1")
    net = sym.FullyConnected(data=sym.Flatten(data=net), num_hidden=1000, name="fc1")
    return sym.SoftmaxOutput(data=net, name="softmax")


def preactivated_small(mx: ModuleType, units: int) -> Symbol:
    """ResNet v2 for small images, three stages of bottleneck units, 9 * units + 2 layers deep; no stages are marked."""
    sym = mx.sym

    def conv(net: Symbol, count: int, size: int, stride: int = 1) -> Symbol:
        net = sym.Activation(data=sym.BatchNorm(data=net, fix_gamma=False), act_type="relu")
        return sym.Convolution(data=net, num_filter=count, kernel=(size, size), stride=(stride, stride),
                               pad=(size // 2, size // 2), no_bias=True)  # fmt: skip

    net = sym.Convolution(data=sym.Variable("data"), num_filter=16, kernel=(3, 3), pad=(1, 1), no_bias=True)
    for stage in range(3):
        width = 16 << stage
        for index in range(units):
            stride = 2 if stage and not index else 1
            body = conv(conv(conv(net, width, 1), width, 3, stride), 4 * width, 1)
            net = body + (net if index else conv(net, 4 * width, 1, stride))
    net = sym.Pooling(data=net, global_pool=True, kernel=(8, 8), pool_type="avg")
    return sym.SoftmaxOutput(data=sym.FullyConnected(data=sym.Flatten(data=net), num_hidden=10), name="softmax")


def lstm(mx: ModuleType, steps: int, layers: int, hidden: int, classes: int) -> Symbol:
    """A stack of LSTM cells written out over `steps`, a loss for each; the states of one step are one stage."""
    sym = mx.sym
    embedding, weight, bias = (sym.Variable(name) for name in ("embed_weight", "cls_weight", "cls_bias"))
    kinds = ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")
    held = [[sym.Variable(f"l{layer}_{kind}") for kind in kinds] for layer in range(layers)]
    states = [(sym.Variable(f"l{layer}_init_c"), sym.Variable(f"l{layer}_init_h")) for layer in range(layers)]
    tops = []
    for step in range(steps):
        net = sym.FullyConnected(
            sym.Variable(f"t{step}_data"), embedding, no_bias=True, num_hidden=hidden, name=f"t{step}_embed"
        )
        for layer in range(layers):
            cell, state = states[layer]
            states[layer] = lstm_cell(sym, f"t{step}_l{layer}", net, (cell, state), held[layer], hidden)
            for value in states[layer]:
                value._set_attr(mirror_stage=str(step))
            net = states[layer][1]
        tops.append(net)
    losses = []
    for step, top in enumerate(tops):
        scores = sym.FullyConnected(top, weight, bias, num_hidden=classes, name=f"t{step}_cls")
        losses.append(sym.softmax_cross_entropy(scores, sym.Variable(f"t{step}_label"), name=f"t{step}_sm"))
    cells = [sym.BlockGrad(cell, name=f"l{layer}_last_c") for layer, (cell, _) in enumerate(states)]
    last = [sym.BlockGrad(state, name=f"l{layer}_last_h") for layer, (_, state) in enumerate(states)]
    return sym.Group([*losses, *cells, *last])


def lstm_cell(
    sym: Any, name: str, net: Symbol, state: tuple[Symbol, Symbol], weights: list[Symbol], hidden: int
) -> tuple[Symbol, Symbol]:
    """The new cell and state of one step, from gates that one product computes."""
    entering = sym.FullyConnected(net, weights[0], weights[1], num_hidden=4 * hidden, name=f"{name}_i2h")
    recurring = sym.FullyConnected(state[1], weights[2], weights[3], num_hidden=4 * hidden, name=f"{name}_h2h")
    gates = sym.SliceChannel(entering + recurring, num_outputs=4, name=f"{name}_slice")
    kinds = ("sigmoid", "tanh", "sigmoid", "sigmoid")
    enter, change, forget, leave = (sym.Activation(gates[slot], act_type=kind) for slot, kind in enumerate(kinds))
    cell = (forget * state[0]) + (enter * change)
    return cell, leave * sym.Activation(cell, act_type="tanh")


def lstm_shapes(steps: int, layers: int, hidden: int, batch: int, width: int = 50) -> Shapes:
    """The shapes of the inputs of `lstm`."""
    shapes: Shapes = {}
    for layer in range(layers):
        shapes |= {f"l{layer}_init_{kind}": (batch, hidden) for kind in "ch"}
    for step in range(steps):
        shapes |= {f"t{step}_data": (batch, width), f"t{step}_label": (batch,)}
    return shapes


NETS: dict[str, tuple[Callable[[ModuleType], Symbol], Shapes]] = {
    "mlp12_b4096": (mlp, {"data": (4096, 256)}),
    "lstm_seq10": (partial(lstm, steps=10, layers=2, hidden=256, classes=100), lstm_shapes(10, 2, 256, 16)),
    "lstm_seq100": (partial(lstm, steps=100, layers=4, hidden=1024, classes=5000), lstm_shapes(100, 4, 1024, 64)),
    "resnet18_b32": (partial(preactivated, units=(2, 2, 2, 2), bottleneck=False), PICTURES),
    "resnet50_b32": (partial(preactivated, units=(3, 4, 6, 3), bottleneck=True), PICTURES),
    "resnet152_b32": (partial(preactivated, units=(3, 8, 36, 3), bottleneck=True), PICTURES),
    **{
        f"example_resnet_{'_'.join(map(str, units))}_b32": (partial(residual, units=units), PICTURES)
        for units in ((1, 1, 1, 1), (3, 4, 6, 3), (3, 8, 36, 3), (3, 24, 36, 3))
    },
}
"""What builds each network of golden/memonger.json that is not a file there, and the shapes of its inputs."""

__all__ = ["NETS", "lstm", "lstm_shapes", "mlp", "preactivated", "preactivated_small", "residual"]
