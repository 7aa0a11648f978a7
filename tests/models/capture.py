"""Capture the classics with live MXNet 1.9.1: symbol, parameters, inputs, outputs and shapes.

    python -m tests.models.capture OUT [NAME...] [--internals]       (all of `symbols.CLASSICS` without a name)

OUT/NAME/ receives

- `model-symbol.json`, `model-0000.params`
- `golden.npz`: `input:<name>`, `zero_input:<name>` for labels, `output:<index>:<name>`, and `before:<index>:<name>`,
  the first input of the node that makes that output (a softmax of random scores may be saturated or flat)
- `shapes.json`: arguments, auxiliary states, every internal output; what `infer_shape_partial` says when only the data
  is given, and when the data has no batch
- with `--internals`, `internals.npz`: the value of every internal output

Parameters are random but reproducible from their names alone (`parameter`); no two captures differ. The subgraph
backend is off, and so is oneDNN, except for the fused RNN operator, which needs it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.models import symbols

SEED = 20240229


def generator(name: str) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64([SEED, zlib.crc32(name.encode())]))


def parameter(name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """The float32 parameter of this name and shape: scale and sign follow the name's ending, never the value's use.

    Variances are positive, slopes of PReLU small, gammas around one (also where fix_gamma ignores them), everything
    else normal with a deviation of sqrt(1.5 / fan-in): plain nets do not fade, residual nets do not explode.
    """
    rng = generator(name)
    if name.endswith("var"):
        return rng.uniform(0.5, 1.5, shape).astype(np.float32)
    if name.endswith("gamma"):
        low, high = (0.1, 0.4) if "prelu" in name else (0.6, 1.4)
        return rng.uniform(low, high, shape).astype(np.float32)
    if name.endswith(("bias", "beta", "mean")) or len(shape) == 1:
        return (rng.standard_normal(shape, dtype=np.float32) * np.float32(0.1)).astype(np.float32)
    fan_in = max(1, int(np.prod(shape[1:])))
    return rng.standard_normal(shape, dtype=np.float32) * np.float32((1.5 / fan_in) ** 0.5)


def feed(name: str, shape: tuple[int, ...], bound: int | None) -> NDArray[Any]:
    """The float32 input of this name: normal, or integers below `bound`."""
    rng = generator("input:" + name)
    if bound is not None:
        return rng.integers(0, bound, shape).astype(np.float32)
    return rng.standard_normal(shape, dtype=np.float32)


def inferred(symbol: Any, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
    """What `infer_shape_partial` says, by name; an unknown shape is null, MXNet's zeros stay zeros."""
    import mxnet as mx

    try:
        arguments, outputs, auxiliaries = symbol.infer_shape_partial(**shapes)
    except mx.MXNetError as error:
        return {"error": str(error).splitlines()[-1].split(": [")[0].strip()}

    def table(names: Iterable[str], found: Iterable[Any]) -> dict[str, Any]:
        return {name: list(shape) if shape else None for name, shape in zip(names, found, strict=True)}

    return {
        "arguments": table(symbol.list_arguments(), arguments),
        "outputs": table(symbol.list_outputs(), outputs),
        "auxiliary_states": table(symbol.list_auxiliary_states(), auxiliaries),
    }


def capture_symbol(
    mx: ModuleType,
    symbol: Any,
    data: Mapping[str, tuple[int, ...]],
    labels: Mapping[str, tuple[int, ...]],
    indices: Mapping[str, int],
    folder: Path,
    internals: bool = False,
) -> dict[str, Any]:
    """Bind, run once on the CPU and write everything into `folder`; returns the figures that `report` prints."""
    folder.mkdir(parents=True, exist_ok=True)
    feeds = {name: feed(name, shape, indices.get(name)) for name, shape in data.items()}
    zeros = {name: np.zeros(shape, np.float32) for name, shape in labels.items()}
    given = {name: tuple(array.shape) for name, array in (feeds | zeros).items()}
    argument_shapes, _, auxiliary_shapes = symbol.infer_shape(**given)
    arguments = dict(zip(symbol.list_arguments(), argument_shapes, strict=True))
    auxiliaries = dict(zip(symbol.list_auxiliary_states(), auxiliary_shapes, strict=True))
    weights = {name: mx.nd.array(parameter(name, shape)) for name, shape in arguments.items() if name not in given}
    moving = {name: mx.nd.array(parameter(name, shape)) for name, shape in auxiliaries.items()}

    symbol.save(str(folder / "model-symbol.json"))
    saved = {f"arg:{name}": array for name, array in weights.items()}
    mx.nd.save(str(folder / "model-0000.params"), saved | {f"aux:{name}": array for name, array in moving.items()})

    heads = symbol.list_outputs()
    inner = symbol.get_internals()
    fed = [symbol[index].get_children()[0] for index in range(len(heads))]
    asked = mx.sym.Group([symbol, *fed, *([inner] if internals else [])])
    bound = {name: mx.nd.array(array) for name, array in (feeds | zeros).items()} | weights
    executor = asked.bind(mx.cpu(), bound, aux_states=moving, grad_req="null")
    values = [array.asnumpy() for array in executor.forward(is_train=False)]
    golden = {f"input:{name}": array for name, array in feeds.items()}
    golden |= {f"zero_input:{name}": array for name, array in zeros.items()}
    golden |= {f"output:{index}:{name}": values[index] for index, name in enumerate(heads)}
    fed_names = (node.list_outputs()[0] for node in fed)
    golden |= {f"before:{index}:{name}": values[len(heads) + index] for index, name in enumerate(fed_names)}
    np.savez_compressed(folder / "golden.npz", **golden)
    if internals:
        named = dict(zip(inner.list_outputs(), values[2 * len(heads) :], strict=True))
        np.savez_compressed(folder / "internals.npz", **{k: v for k, v in named.items() if k not in bound})

    no_batch = {name: (0, *shape[1:]) for name, shape in data.items()}
    _, inner_shapes, _ = inner.infer_shape(**given)
    shapes = {
        "data": {name: list(shape) for name, shape in data.items()},
        "labels": {name: list(shape) for name, shape in labels.items()},
        "arguments": {name: list(shape) for name, shape in arguments.items()},
        "auxiliary_states": {name: list(shape) for name, shape in auxiliaries.items()},
        "internals": dict(zip(inner.list_outputs(), map(list, inner_shapes), strict=True)),
        "data_only": inferred(symbol, data),
        "data_without_batch": inferred(symbol, no_batch),
    }
    (folder / "shapes.json").write_text(json.dumps(shapes, indent=1) + "\n", encoding="ascii")
    largest = max(float(np.max(np.abs(value))) for value in values[: len(heads)])
    if not np.isfinite(largest):
        raise ValueError(f"{folder.name}: an output is not finite")
    return {"parameters": sum(array.size for array in weights.values()), "largest": largest}


def capture(mx: ModuleType, name: str, out: Path, internals: bool = False) -> dict[str, Any]:
    classic = symbols.CLASSICS[name]
    return capture_symbol(mx, classic.symbol(mx), classic.data, classic.labels, classic.indices, out / name, internals)


def report(name: str, found: Mapping[str, Any], seconds: float) -> None:
    """One line for one capture; `|y|` is the largest absolute output."""
    size, largest = found["parameters"], found["largest"]
    print(f"{name:24} {size:>11,} parameters  |y| {largest:<10.4g} {seconds:6.1f} s", flush=True)


def environment(onednn: bool) -> dict[str, str]:
    """MXNet reads these once, at its import."""
    switch = "1" if onednn else "0"
    return {
        "MXNET_SUBGRAPH_BACKEND": "NONE",
        "MXNET_USE_ONEDNN": switch,
        "MXNET_MKLDNN_ENABLED": switch,
        "MXNET_STORAGE_FALLBACK_LOG_VERBOSE": "0",
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Capture the symbol-API classics with live MXNet 1.9.1.")
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(symbols.CLASSICS)}")
    parser.add_argument("--internals", action="store_true", help="also the value of every internal output")
    options = parser.parse_args(arguments)
    names = options.names or list(symbols.CLASSICS)
    if unknown := [name for name in names if name not in symbols.CLASSICS]:
        parser.error(f"unknown: {', '.join(unknown)}")
    groups = {flag: [n for n in names if symbols.CLASSICS[n].needs_onednn is flag] for flag in (False, True)}
    if all(groups.values()):
        extra = ["--internals"] if options.internals else []
        program = [sys.executable, "-m", "tests.models.capture", str(options.out)]
        commands = [[*program, *group, *extra] for group in groups.values()]
        return max(subprocess.run(command, check=False).returncode for command in commands)

    os.environ.update(environment(onednn=bool(groups[True])))
    mx = symbols.import_mxnet()
    for name in names:
        start = time.perf_counter()
        found = capture(mx, name, options.out, options.internals)
        report(name, found, time.perf_counter() - start)
    return 0


if __name__ == "__main__":
    sys.exit(main())
