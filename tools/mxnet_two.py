"""Write what MXNet 2.0 makes of small networks and single operators: symbols, parameters, inputs and outputs.

Run by hand in an environment with live MXNet 2.0.0b1 and NumPy below 1.24:

    python tools/mxnet_two.py tests/converters/mxnet/two

`rows.json` and `rows.npz` hold the operators, `<name>-symbol.json` and `<name>-0000.params` the networks as gluon
exports them. The tests need no MXNet.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import mxnet as mx  # noqa: TID251
import numpy as np
from mxnet import npx  # noqa: TID251
from mxnet.gluon import HybridBlock, nn, rnn  # noqa: TID251

Made = dict[str, np.ndarray[Any, Any]]


class Calls(HybridBlock):  # type: ignore[misc]
    """A block that calls a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


class Residual(HybridBlock):  # type: ignore[misc]
    """Two convolutions with a GroupNorm, around which the input goes."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.HybridSequential()
        self.body.add(nn.Conv2D(channels, 3, padding=1), nn.GroupNorm(2), nn.Activation("mish"))
        self.body.add(nn.Conv2D(channels, 3, padding=1), nn.BatchNorm(), nn.Activation("log_sigmoid"))

    def forward(self, x: Any) -> Any:
        return npx.relu(x + self.body(x) * 0.5)


class Attention(HybridBlock):  # type: ignore[misc]
    """One layer of self-attention over valid lengths, as transformers of 2.0 are written."""

    def __init__(self, units: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.embed = nn.Embedding(11, units)
        self.qkv = nn.Dense(3 * units, flatten=False)
        self.out = nn.Dense(units, flatten=False)
        self.norm = nn.LayerNorm()
        self.gelu = nn.GELU()

    def forward(self, tokens: Any, lengths: Any) -> Any:
        x = self.embed(tokens)
        query, key, value = mx.np.split(npx.reshape(self.qkv(x), (-2, -2, -1)), 3, axis=-1)
        query, key, value = (npx.reshape(each, (-2, -2, self.heads, -1)) for each in (query, key, value))
        scores = mx.np.einsum("bnhd,bmhd->bhnm", query, key) / 2.0
        steps = npx.arange_like(tokens, axis=1)
        mask = mx.np.expand_dims(steps, 0) < mx.np.expand_dims(lengths, 1)
        mask = mx.np.expand_dims(mx.np.expand_dims(mask, 1), 1) * mx.np.ones_like(scores)
        weights = npx.masked_softmax(scores, mask.astype("bool"), axis=-1)
        context = mx.np.einsum("bhnm,bmhd->bnhd", weights, value)
        joined = self.out(npx.reshape(context, (-2, -2, -5)))
        return self.gelu(self.norm(x + joined)).mean(axis=1)


class Encoder(HybridBlock):  # type: ignore[misc]
    """One layer of BERT: attention in heads that see valid words only, and two dense layers."""

    def __init__(self, units: int, heads: int) -> None:
        super().__init__()
        self.heads, self.units = heads, units
        self.query, self.key, self.value, self.out = (nn.Dense(units, flatten=False) for _ in range(4))
        self.first, self.second = nn.LayerNorm(epsilon=1e-12), nn.LayerNorm(epsilon=1e-12)
        self.wide, self.narrow = nn.Dense(2 * units, flatten=False), nn.Dense(units, flatten=False)
        self.gelu, self.dropout = nn.GELU(), nn.Dropout(0.1)

    def forward(self, x: Any, mask: Any) -> Any:
        parts = (npx.reshape(each(x), (-2, -2, self.heads, -1)) for each in (self.query, self.key, self.value))
        query, key, value = (mx.np.transpose(each, (0, 2, 1, 3)) for each in parts)
        scores = npx.batch_dot(
            npx.reshape(query, (-5, -2, -2)), npx.reshape(key, (-5, -2, -2)), transpose_b=True
        ) / float(np.sqrt(self.units / self.heads))
        scores = npx.reshape(scores, (-6, -1, self.heads, -2, -2))
        weights = self.dropout(npx.masked_softmax(scores, mx.np.expand_dims(mask, 1), axis=-1))
        context = mx.np.transpose(mx.np.matmul(weights, value), (0, 2, 1, 3))
        x = self.first(x + self.dropout(self.out(npx.reshape(context, (-2, -2, -1)))))
        return self.second(x + self.dropout(self.narrow(self.gelu(self.wide(x)))))


class Bert(HybridBlock):  # type: ignore[misc]
    """BERT as GluonNLP 1.x writes it: embeddings, encoders, and a pooled first word."""

    def __init__(self, units: int, heads: int, layers: int) -> None:
        super().__init__()
        self.words, self.kinds, self.places = nn.Embedding(19, units), nn.Embedding(2, units), nn.Embedding(12, units)
        self.norm, self.pooler = nn.LayerNorm(epsilon=1e-12), nn.Dense(units, activation="tanh", flatten=False)
        self.encoders = [Encoder(units, heads) for _ in range(layers)]
        for place, encoder in enumerate(self.encoders):
            setattr(self, f"encoder{place}", encoder)

    def forward(self, tokens: Any, kinds: Any, lengths: Any) -> Any:
        steps = npx.arange_like(tokens, axis=1)
        x = self.norm(self.words(tokens) + self.kinds(kinds) + mx.np.expand_dims(self.places(steps), 0))
        seen = mx.np.expand_dims(mx.np.expand_dims(steps, 0) < mx.np.expand_dims(lengths, 1), 1)
        mask = mx.np.broadcast_to(seen, (2, 6, 6)).astype("bool")
        for encoder in self.encoders:
            x = encoder(x, mask)
        return npx.sequence_mask(x, lengths, use_sequence_length=True, axis=1), self.pooler(x[:, 0, :])


def sequential(*layers: Any) -> Any:
    """Layers one after the other."""
    net = nn.HybridSequential()
    net.add(*layers)
    return net


def networks() -> dict[str, tuple[Any, Made]]:
    """Networks and their inputs, by name."""
    draw = np.random.Generator(np.random.PCG64(7))
    image = draw.standard_normal((2, 3, 11, 9)).astype(np.float32)
    series = draw.standard_normal((5, 2, 3)).astype(np.float32)
    tokens = draw.integers(0, 11, (2, 6)).astype(np.int32)
    convolutions = sequential(
        nn.Conv2D(4, 3, strides=2, padding=1, use_bias=False),
        nn.BatchNorm(),
        Residual(4),
        nn.MaxPool2D(2),
        nn.SiLU(),
        nn.Flatten(),
        nn.Dense(5),
        Calls(npx.log_softmax),
    )
    last = Calls(lambda x: mx.np.squeeze(x[-1:], axis=0))
    recurrent = sequential(rnn.LSTM(4, 2, bidirectional=True), rnn.GRU(3), last)
    return {
        "convolutions": (convolutions, {"data": image}),
        "recurrent": (recurrent, {"data": series}),
        "bert": (
            Bert(8, 2, 2),
            {"data0": tokens, "data1": (tokens % 2).astype(np.int32), "data2": np.array([6, 3], np.int32)},
        ),
        "attention": (Attention(8, 2), {"data0": tokens, "data1": np.array([6, 3], np.int32)}),
    }


def operators() -> dict[str, tuple[Callable[..., Any], Made]]:
    """Single functions and their inputs, by name."""
    draw = np.random.Generator(np.random.PCG64(8))
    x = draw.standard_normal((2, 3, 4)).astype(np.float32)
    row = draw.standard_normal((3, 1)).astype(np.float32)
    i, j = draw.integers(-9, 10, (2, 5)).astype(np.int32), draw.integers(1, 6, (5,)).astype(np.int32)
    u = draw.integers(0, 99, (2, 5)).astype(np.uint8)
    b, c = draw.integers(0, 2, (2, 5)).astype(bool), draw.integers(0, 2, (5,)).astype(bool)
    nan = np.array([np.nan, -1.5, 2.0, np.inf, -np.inf, 0.0], np.float32)
    pairs: dict[str, Callable[..., Any]] = {
        **{name: getattr(mx.np, name) for name in ("floor_divide", "fmax", "fmin", "fmod", "logaddexp", "mod")},
        **{name: getattr(mx.np, name) for name in ("add", "subtract", "multiply", "true_divide", "maximum")},
        **{name: getattr(mx.np, name) for name in ("greater", "less_equal", "equal", "arctan2", "copysign")},
    }
    rows: dict[str, tuple[Callable[..., Any], Made]] = {}
    for name, function in pairs.items():
        rows[name] = function, {"data0": x, "data1": row}
        if name not in ("logaddexp", "arctan2", "copysign"):
            rows[f"{name}_int32"] = function, {"data0": i, "data1": j}
        if name != "copysign":  # of which MXNet 2.0 builds no graph
            rows[f"{name}_scalar"] = (lambda f: lambda a: f(a, 1.5))(function), {"data": x}
        rows[f"{name}_of_scalar"] = (lambda f: lambda a: f(2.5, a))(function), {"data": x}
    for name in ("logical_and", "logical_or", "logical_xor"):
        rows[name] = getattr(mx.np, name), {"data0": b, "data1": c}
        rows[f"{name}_float"] = getattr(mx.np, name), {"data0": x, "data1": row}
        rows[f"{name}_scalar"] = (lambda f: lambda a: f(a, 0))(getattr(mx.np, name)), {"data": x}
    for name in ("bitwise_left_shift", "bitwise_right_shift", "gcd", "lcm"):
        function = getattr(mx.np, name)
        rows[f"{name}_int32"] = function, {"data0": np.abs(i), "data1": j}
        if "shift" not in name:  # of which MXNet 2.0 builds no graph
            rows[f"{name}_scalar"] = (lambda f: lambda a: f(a, 3))(function), {"data": np.abs(i)}
    rows["right_shift_negative"] = mx.np.bitwise_right_shift, {"data0": i, "data1": j}
    wide = draw.integers(-12, 12, (2, 5)).astype(np.int32)
    rows["shifts_beyond"] = mx.np.bitwise_left_shift, {"data0": i, "data1": wide}
    rows["right_shift_uint8"] = mx.np.bitwise_right_shift, {"data0": u, "data1": u // 8}
    rows["left_shift_mixed"] = mx.np.bitwise_left_shift, {"data0": u, "data1": j}
    rows["floor_divide_nan"] = (lambda a: mx.np.floor_divide(a, 0.5)), {"data": nan}
    rows["fmax_nan"] = (lambda a: mx.np.fmax(a, 0.5)), {"data": nan}
    rows["fmod_negative"] = (lambda a: mx.np.fmod(a, 2)), {"data": i}
    return rows | shapes_and_places(draw)


def shapes_and_places(draw: np.random.Generator) -> dict[str, tuple[Callable[..., Any], Made]]:
    """Functions that mask, rearrange, multiply shapes, write to places and create."""
    rows: dict[str, tuple[Callable[..., Any], Made]] = {}
    x, y = (draw.standard_normal((2, 3, 4)).astype(np.float32) for _ in range(2))
    row, m = draw.standard_normal((3, 1)).astype(np.float32), draw.standard_normal((3, 3)).astype(np.float32)
    i, b = draw.integers(-9, 10, (2, 5)).astype(np.int32), draw.integers(0, 2, (2, 5)).astype(bool)
    rows["mish"] = npx.mish if hasattr(npx, "mish") else (lambda a: npx.activation(a, "mish")), {"data": x * 9}
    rows["log_sigmoid"] = (lambda a: npx.activation(a, "log_sigmoid")), {"data": x * 9}
    masks = draw.integers(0, 2, (2, 3, 4)).astype(bool)
    masks[0, 0] = False
    rows["masked_softmax"] = npx.masked_softmax, {"data0": x, "data1": masks}
    rows["masked_softmax_axis"] = (
        lambda a, k: npx.masked_softmax(a, k, axis=1, temperature=2.0),
        {"data0": x, "data1": masks[:, :, :1]},
    )
    rows["masked_log_softmax"] = npx.masked_log_softmax, {"data0": x, "data1": masks}
    rows["triu"] = (lambda a: mx.np.triu(a, 1)), {"data": x}
    rows["tril"] = (lambda a: mx.np.tril(a, -1)), {"data": x}
    rows["tri"] = (lambda a: a + mx.np.tri(3, 4, 1)), {"data": x}
    rows["rollaxis"] = (lambda a: mx.np.rollaxis(a, 2)), {"data": x}
    rows["rollaxis_start"] = (lambda a: mx.np.rollaxis(a, 0, 3)), {"data": x}
    rows["repeats"] = (lambda a: mx.np.repeat(a, [1, 0, 2], axis=1)), {"data": x}
    rows["kron"] = mx.np.kron, {"data0": m, "data1": row}
    rows["kron_ranks"] = mx.np.kron, {"data0": x, "data1": m}
    rows["cross"] = mx.np.cross, {"data0": m, "data1": m.T.copy()}
    turned = y.transpose(0, 2, 1)
    rows["cross_axes"] = (lambda a, k: mx.np.cross(a, k, axisa=1, axisb=2, axisc=1)), {"data0": x, "data1": turned}
    rows["cross_of_2_and_3"] = mx.np.cross, {"data0": m[:, :2], "data1": m}
    rows["cross_of_2"] = mx.np.cross, {"data0": x[:, :, :2], "data1": y[:, :, :2]}
    ladder = np.sort(draw.standard_normal(6)).astype(np.float32)
    rows["interp"] = (lambda a, f, p: mx.np.interp(a, p, f)), {"data0": x, "data1": y.reshape(-1)[:6], "data2": ladder}
    twice = np.array([[0, 1, 0], [2, 2, 2]], np.int32)
    rows["index_add"] = npx.index_add, {"data0": x, "data1": twice, "data2": y[0, :3]}
    rows["index_update"] = (
        npx.index_update,
        {"data0": x, "data1": np.array([[0, 1], [2, 0]], np.int32), "data2": y[0, :2]},
    )
    rows["boolean_indexing"] = (lambda a, k: a[k]), {"data0": i, "data1": b}
    rows["full_like"] = (lambda a: a + mx.np.full((4,), 2.5)), {"data": x}
    rows["linspace"] = (lambda a: a + mx.np.linspace(0, 1, 4)), {"data": x}
    rows["arange"] = (lambda a: a * mx.np.arange(4)), {"data": x}
    rows["eye"] = (lambda a: mx.np.matmul(a, mx.np.eye(4, 4, 1))), {"data": x}
    rows["sums"] = (lambda a: a.sum(axis=(0, 2)) + a.max() - a.min(axis=2)[0]), {"data": x}
    rows["any_all"] = (lambda a: mx.np.any(a > 0.5, axis=1) == mx.np.all(a > -1, axis=1)), {"data": x}
    rows["concatenate"] = (lambda a, k: mx.np.concatenate([a, k], axis=None)), {"data0": x, "data1": m}
    rows["array_split"] = (lambda a: mx.np.array_split(a, 2, axis=1)[1]), {"data": x}
    rows["shapes"] = (lambda a: mx.np.moveaxis(mx.np.atleast_3d(mx.np.roll(a, 1, 0).copy()), 0, 2)), {"data": m}
    rows["diagonals"] = (lambda a: mx.np.diag(a, 1).sum() + mx.np.trace(a) + mx.np.diagonal(a)), {"data": m}
    rows["gamma_functions"] = (lambda a: npx.gamma(a) + npx.gammaln(a) + npx.digamma(a)), {"data": np.abs(x) + 0.5}
    rows["pooling"] = (lambda a: npx.pooling(a, kernel=(2,), pool_type="avg", stride=(2,))), {"data": x}
    return rows


def nodes() -> dict[str, tuple[str, dict[str, str], Made]]:
    """Operators that gluon cannot trace, by name: operator, attributes and inputs."""
    draw = np.random.Generator(np.random.PCG64(9))
    x = draw.standard_normal((2, 5)).astype(np.float32) * 20
    rows: dict[str, tuple[str, dict[str, str], Made]] = {}
    odd = np.array([0.5, 1, 3.7, 100, 1e6, -0.5, -2.3, 0, -1, -3, 1e-5, np.nan, np.inf, -np.inf], np.float32)
    rows["digamma"] = "digamma", {}, {"data": odd}
    for name in ("mish", "log_sigmoid"):
        for dtype in ("float16", "float32", "float64"):
            rows[f"{name}_{dtype}"] = name, {}, {"data": x.astype(dtype)}
    rows["tril_indices"] = "_npi_tril_indices", {"n": "4", "k": "-1", "m": "3"}, {}
    return rows


def bound(operator: str, attributes: Mapping[str, str], inputs: Made) -> tuple[str, dict[str, Any]]:
    """A symbol of the operator alone, and its outputs in order."""
    count = len(inputs)
    outputs = 2 if operator == "_npi_tril_indices" else 1
    record = {"op": operator, "name": "made", "attrs": dict(attributes), "inputs": [[k, 0, 0] for k in range(count)]}
    symbol = {
        "nodes": [*({"op": "null", "name": name, "inputs": []} for name in inputs), record],
        "arg_nodes": list(range(count)),
        "node_row_ptr": list(range(count + 2)),
        "heads": [[count, slot, 0] for slot in range(outputs)],
        "attrs": {"mxnet_version": ["int", 20000], "is_np_shape": ["int", 1]},
    }
    text = json.dumps(symbol)
    arrays = {name: mx.np.array(value, dtype=value.dtype) for name, value in inputs.items()}
    found = mx.symbol.fromjson(text)._bind(mx.cpu(), arrays, grad_req="null").forward(is_train=False)
    return text, {f"output{place}": result.asnumpy() for place, result in enumerate(found)}


def exported(net: Any, inputs: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Run, export to `path`, and give the outputs in order."""
    net.hybridize()
    found = net(*(mx.np.array(value, dtype=value.dtype) for value in inputs.values()))
    net.export(path)
    results = found if isinstance(found, (list, tuple)) else [found]
    return {f"output{place}": result.asnumpy() for place, result in enumerate(results)}


def main(folder: Path) -> None:
    """Write everything into the folder."""
    arrays: dict[str, Any] = {}
    symbols: dict[str, str] = {}
    mx.np.random.seed(3)
    for name, (net, inputs) in networks().items():
        net.initialize(mx.init.Uniform(0.5))
        outputs = exported(net, inputs, str(folder / name))
        arrays |= {f"{name}/{key}": value for key, value in (*inputs.items(), *outputs.items())}
    with tempfile.TemporaryDirectory() as scratch:
        for name, (function, inputs) in operators().items():
            outputs = exported(Calls(function), inputs, f"{scratch}/row")
            symbols[name] = Path(f"{scratch}/row-symbol.json").read_text(encoding="ascii")
            arrays |= {f"{name}/{key}": value for key, value in (*inputs.items(), *outputs.items())}
    for name, (operator, attributes, inputs) in nodes().items():
        symbols[name], outputs = bound(operator, attributes, inputs)
        arrays |= {f"{name}/{key}": value for key, value in (*inputs.items(), *outputs.items())}
    (folder / "rows.json").write_text(json.dumps({name: json.loads(text) for name, text in symbols.items()}) + "\n")
    np.savez_compressed(folder / "rows.npz", **arrays)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the folder to write")
    main(parser.parse_args().out)
