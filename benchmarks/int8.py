"""What a quantized network costs in onnxruntime beside the same network in float32: a ratio, from one run.

    python benchmarks/int8.py MODEL-symbol.json [-i data:1,3,224,224] [--threads 1] [--repeats 30]

MODEL is a symbol that `mx.contrib.quantization` made over oneDNN's fused graph (gluoncv's `*_int8`, for one). Weights
beside it are taken; where there are none they are drawn from the shapes that the symbol states. The float32 network is
the same symbol without its quantization: the fused operators as they are, the conversions of dtypes left out.

Both files are converted, opened and run in turns in one process; the ratio is that of the least times, which a busy
machine disturbs least. Printed too are the operators that onnxruntime's optimizer made: what is not among its integer
kernels runs in float32.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

PASSED = ("_contrib_quantize_v2", "_contrib_dequantize", "_contrib_requantize")
PLAIN = {"_contrib_quantized_pooling": "Pooling", "_contrib_quantized_flatten": "Flatten"}
RANGES = ("quantized", "min_calib_range", "max_calib_range", "enable_float_output")


def in_float32(symbol: dict[str, Any]) -> dict[str, Any]:
    """The symbol without its quantization: operators between dtypes give what they take, ranges are no operands."""
    made = json.loads(json.dumps(symbol))
    for node in made["nodes"]:
        attrs = node.get("attrs", {})
        if node["op"] in PASSED:
            node["op"], node["inputs"] = "_copy", node["inputs"][:1]
            node.pop("attrs", None)
        elif node["op"] in PLAIN:
            node["op"], node["inputs"] = PLAIN[node["op"]], node["inputs"][:1]
        elif attrs.get("quantized", "").lower() in ("true", "1"):
            ranged = 2 if "conv" not in node["op"] else 2 * (2 if "true" in attrs.get("with_sum", "").lower() else 1)
            node["inputs"] = node["inputs"][:-ranged]
            node["attrs"] = {name: text for name, text in attrs.items() if name not in RANGES}
        elif "quantized" in node["op"]:
            raise SystemExit(f"{node['op']} ({node['name']}) has no float32 operator here")
    return dict(made)


def weights(symbol: dict[str, Any], given: set[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Random weights of the shapes that the variables state."""
    generator = np.random.Generator(np.random.PCG64(0))
    found = {}
    for node in symbol["nodes"]:
        text = node.get("attrs", {}).get("__shape__")
        if node["op"] != "null" or node["name"] in given or text is None:
            continue
        shape = ast.literal_eval(text)
        if node["name"].endswith(("gamma", "var")):
            found[node["name"]] = generator.uniform(0.5, 1.5, shape).astype(np.float32)
        else:
            fan = max(1, int(np.prod(shape[1:])))
            found[node["name"]] = (generator.standard_normal(shape) / np.sqrt(fan)).astype(np.float32)
    return found


def opened(model: Any, path: Path, threads: int) -> tuple[Any, Counter[str]]:
    """A session, and the operators that it runs."""
    import onnx
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    options.optimized_model_filepath = str(path)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session, Counter(node.op_type for node in onnx.load(path).graph.node)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("symbol", type=Path)
    parser.add_argument("-i", "--input", default="data:1,3,224,224", metavar="NAME:SHAPE")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=30)
    options = parser.parse_args()
    from graphir.converters.mxnet import from_symbol
    from graphir.converters.mxnet.files.params import read_params
    from graphir.converters.onnx import to_model

    name, _, text = options.input.partition(":")
    shape = tuple(int(size) for size in text.split(","))
    document = json.loads(options.symbol.read_text())
    beside = options.symbol.with_name(options.symbol.name.replace("-symbol.json", "-0000.params"))
    params: dict[str, Any] = dict(read_params(beside)) if beside.exists() else weights(document, {name})
    data = np.random.Generator(np.random.PCG64(1)).uniform(-1, 1, shape).astype(np.float32)
    sessions, sizes, kernels = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for symbol in (in_float32(document), document):
            model = to_model(from_symbol(json.dumps(symbol), params, {name: shape}))
            session, found = opened(model, Path(folder) / "optimized.onnx", options.threads)
            sessions.append(session)
            kernels.append(found)
            sizes.append(model.ByteSize())
    least = [float("inf")] * 2
    for _ in range(options.repeats):
        for place, session in enumerate(sessions):
            start = time.perf_counter()
            session.run(None, {name: data})
            least[place] = min(least[place], time.perf_counter() - start)
    print(f"time, int8 / float32: {least[1] / least[0]:.2f}")
    print(f"file, int8 / float32: {sizes[1] / sizes[0]:.2f}")
    for title, found in zip(("float32", "int8"), kernels, strict=True):
        print(f"{title}: {', '.join(f'{count} {op}' for op, count in found.most_common(8))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
