"""Networks as MXNet's AMP converts them, captured with live MXNet 1.9.1.

    python -m tests.models.amp_nets OUT

writes OUT/NAME-symbol.json and OUT/NAME-0000.params for every row of CASES. It imports nothing of graphir and no
ml_dtypes, whose bfloat16 MXNet's own lookups do not know.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

SHAPES: Mapping[str, tuple[int, ...]] = {"vision": (2, 3, 8, 8), "sequence": (5, 2, 6), "branches": (2, 3, 8, 8)}


class AmpCase(NamedTuple):
    """One conversion: of which network, to what, with which of AMP's options; `way` is `model` (symbol and parameters),
    `block` (a hybrid block) or `cast` (net.cast, without AMP)."""

    net: str
    dtype: str
    options: Mapping[str, Any] = {}
    way: str = "model"


NARROW_EXP = {
    "target_dtype_ops": ["exp", "BatchNorm", "Convolution", "FullyConnected"], "fp32_ops": ["softmax"],
    "cast_optional_params": True,
}  # fmt: skip
ROWS: tuple[tuple[str, str, Mapping[str, Any], str], ...] = (
    ("plain", "vision", {}, "model"),
    ("cast_params", "vision", {"cast_optional_params": True}, "model"),
    ("excluded", "vision", {"excluded_sym_names": ["fc"], "cast_optional_params": True}, "model"),
    ("conditional", "vision", {"conditional_fp32_ops": [("Activation", "act_type", ["softrelu"])]}, "model"),
    ("sequence", "sequence", {"cast_optional_params": True}, "model"),
    ("branches", "branches", {"cast_optional_params": True}, "model"),
    ("all_narrow", "branches", NARROW_EXP, "model"),
    ("block", "vision", {"cast_optional_params": True}, "block"),
    ("net_cast", "vision", {}, "cast"),
)
CASES: Mapping[str, AmpCase] = {
    f"{name}_{dtype}": AmpCase(net, dtype, options, way)
    for dtype in ("float16", "bfloat16")
    for name, net, options, way in ROWS
    if (way, dtype) != ("cast", "bfloat16")  # gluon's cast knows no bfloat16
}


def vision(mx: Any) -> Any:
    """Convolution, batch normalization, pooling, a product and a softmax."""
    data = mx.sym.Variable("data")
    inner = mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, pad=(1, 1), name="conv")
    inner = mx.sym.BatchNorm(inner, fix_gamma=False, name="bn")
    inner = mx.sym.Activation(inner, act_type="softrelu", name="act")
    inner = mx.sym.Pooling(inner, kernel=(2, 2), stride=(2, 2), pool_type="avg", name="pool")
    inner = mx.sym.Dropout(mx.sym.FullyConnected(inner, num_hidden=5, name="fc"), name="drop")
    return mx.sym.softmax(inner, name="scores")


def sequence(mx: Any) -> Any:
    """A recurrent layer with a product behind it."""
    data = mx.sym.Variable("data")
    inner = mx.sym.RNN(data, mode="lstm", state_size=4, num_layers=1, name="lstm",
                       parameters=mx.sym.Variable("lstm_parameters"), state=mx.sym.zeros((1, 2, 4), name="h"),
                       state_cell=mx.sym.zeros((1, 2, 4), name="c"))  # fmt: skip
    return mx.sym.FullyConnected(inner, num_hidden=3, flatten=False, name="fc")


def branches(mx: Any) -> Any:
    """A sum and a difference of a narrow and a wide branch, brought to one dtype by amp_multicast."""
    data = mx.sym.Variable("data")
    left = mx.sym.Convolution(data, kernel=(1, 1), num_filter=4, name="conv")
    right = mx.sym.exp(mx.sym.BatchNorm(mx.sym.Convolution(data, kernel=(1, 1), num_filter=4, name="conv2"), name="bn"))
    wide = mx.sym.amp_multicast(left, right, num_outputs=2, name="wide")
    narrow = mx.sym.amp_multicast(right, left, num_outputs=2, cast_narrow=True, name="narrow")
    parts = [mx.sym.amp_cast(part, dtype="float32") for part in (wide[0] + wide[1], narrow[0] - narrow[1])]
    joined = mx.sym.concat(*parts, dim=1, name="joined")
    return mx.sym.Group([mx.sym.softmax(mx.sym.FullyConnected(joined, num_hidden=3, name="fc")), joined])


NETS: Mapping[str, Callable[[Any], Any]] = {"vision": vision, "sequence": sequence, "branches": branches}


def parameters(mx: Any, symbol: Any, shape: tuple[int, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Small random numbers, the same each time."""
    shapes, _, states = symbol.infer_shape(data=shape)
    rng = np.random.Generator(np.random.PCG64(7))

    def drawn(names: list[str], sizes: list[tuple[int, ...]]) -> dict[str, Any]:
        pairs = zip(names, sizes)  # noqa: B905  old Pythons lack strict
        return {name: mx.nd.array(rng.uniform(0.1, 0.6, size)) for name, size in pairs if name != "data"}

    return drawn(symbol.list_arguments(), shapes), drawn(symbol.list_auxiliary_states(), states)


def save(mx: Any, prefix: Path, symbol: Any, arguments: Mapping[str, Any], states: Mapping[str, Any]) -> None:
    """A checkpoint that keeps AMP's casts."""
    Path(f"{prefix}-symbol.json").write_text(symbol.tojson(remove_amp_cast=False))
    held = {f"arg:{name}": array for name, array in arguments.items()}
    mx.nd.save(f"{prefix}-0000.params", held | {f"aux:{name}": array for name, array in states.items()})


def block_of(mx: Any, symbol: Any, arguments: Mapping[str, Any], states: Mapping[str, Any], folder: Path) -> Any:
    """The same network as gluon's hybrid block."""
    save(mx, folder / "block", symbol, arguments, states)
    files = str(folder / "block-symbol.json"), ["data"], str(folder / "block-0000.params")
    return mx.gluon.SymbolBlock.imports(*files)


def cast_block(mx: Any, dtype: str, shape: tuple[int, ...]) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Gluon's own layers after net.cast: batch normalization keeps its numbers in float32."""
    net = mx.gluon.nn.HybridSequential()
    with net.name_scope():
        net.add(mx.gluon.nn.Conv2D(4, 3), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Activation("relu"), mx.gluon.nn.Dense(5))
    net.initialize(mx.init.Normal(0.3))
    net(mx.nd.ones(shape))
    net.cast(dtype)
    symbol = net(mx.sym.Variable("data"))
    found = {key: param.data() for key, param in net.collect_params().items()}
    states = symbol.list_auxiliary_states()
    return symbol, {key: found[key] for key in found if key not in states}, {key: found[key] for key in states}


def capture(mx: Any, name: str, folder: Path) -> None:
    """Convert one row as AMP does it, and store it."""
    from mxnet.contrib import amp

    row = CASES[name]
    symbol, shape = NETS[row.net](mx), SHAPES[row.net]
    arguments, states = parameters(mx, symbol, shape)
    if row.way == "model":
        converted = amp.convert_model(symbol, arguments, states, target_dtype=row.dtype, **row.options)
        save(mx, folder / name, *converted)
        return
    if row.way == "cast":
        save(mx, folder / name, *cast_block(mx, row.dtype, shape))
        return
    block = block_of(mx, symbol, arguments, states, folder)
    made = amp.convert_hybrid_block(block, target_dtype=row.dtype, ctx=mx.cpu(), **row.options)
    found = {key: param.data() for key, param in made.collect_params().items()}
    _, inside = made._cached_graph
    save(mx, folder / name, inside, {key: found[key] for key in arguments}, {key: found[key] for key in states})


def main(folder: Path) -> None:
    """All rows; a line of JSON for each that MXNet itself refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for alias in (bool, object, int, float, complex, str):
            if alias.__name__ not in vars(np):
                setattr(np, alias.__name__, alias)
        import mxnet
    for name in CASES:
        capture(mxnet, name, folder)
    sys.stdout.write(json.dumps(list(CASES)) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
