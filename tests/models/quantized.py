"""Quantize a small network with live MXNet 1.9.1, as its users do: `mx.contrib.quantization` over oneDNN's fused graph.

    python -m tests.models.quantized OUT

OUT receives `float-symbol.json` and `float-0000.params`, the fused network as `fused-...`, and MODE-DTYPE-... for modes
of calibration (none, naive, entropy) and dtypes (auto, int8), each with `MODE-DTYPE.npz`: `data` and `output`.
Parameters and data are random, from one seed.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.models import symbols

# Modes of calibration and dtypes. MXNet itself cannot run entropy-int8: behind a ReLU it wants int8 and has uint8.
KINDS = (("none", "auto"), ("none", "int8"), ("naive", "auto"), ("naive", "int8"), ("entropy", "auto"))
SHAPE = (4, 3, 32, 32)


def residual(mx: Any, data: Any, filters: int, name: str, projected: bool) -> Any:
    """Two convolutions with batch normalization beside the data, or a projection of them, added and rectified."""
    def layer(source: Any, part: str, kernel: int) -> Any:
        found = mx.sym.Convolution(
            source, kernel=(kernel, kernel), pad=(kernel // 2,) * 2, num_filter=filters, no_bias=True,
            name=f"{name}_conv{part}",
        )  # fmt: skip
        return mx.sym.BatchNorm(found, fix_gamma=False, name=f"{name}_bn{part}")

    body = layer(mx.sym.Activation(layer(data, "1", 3), act_type="relu"), "2", 3)
    return mx.sym.Activation(body + (layer(data, "0", 1) if projected else data), act_type="relu", name=name)


def network(mx: Any) -> Any:
    """A residual network with what oneDNN fuses: normalization, activations of three kinds, sums, groups, dense."""
    data = mx.sym.Variable("data")
    found = mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), stride=(2, 2), num_filter=16, name="conv0")
    found = mx.sym.Activation(mx.sym.BatchNorm(found, fix_gamma=False, name="bn0"), act_type="relu")
    found = residual(mx, residual(mx, found, 16, "block1", False), 32, "block2", True)
    found = mx.sym.Pooling(found, kernel=(2, 2), stride=(2, 2), pool_type="max")
    found = mx.sym.Convolution(found, kernel=(3, 3), pad=(1, 1), num_filter=32, num_group=32, name="depthwise")
    found = mx.sym.LeakyReLU(found, act_type="leaky", slope=0.1)
    found = mx.sym.Flatten(mx.sym.Pooling(found, kernel=(1, 1), pool_type="avg", global_pool=True))
    found = mx.sym.Activation(mx.sym.FullyConnected(found, num_hidden=24, name="fc1"), act_type="relu")
    return mx.sym.FullyConnected(found, num_hidden=10, name="fc2")


def drawn(name: str, shape: tuple[int, ...], generator: np.random.Generator) -> Any:
    """A parameter by the ending of its name."""
    if name.endswith(("gamma", "var")):
        return generator.uniform(0.5, 1.5, shape)
    if len(shape) == 1:
        return generator.standard_normal(shape) * 0.1
    return generator.standard_normal(shape) * np.sqrt(2.0 / np.prod(shape[1:]))


def main(out: Path) -> None:
    """Write all of it."""
    mx = symbols.import_mxnet()
    from mxnet.contrib import quantization

    logging.disable(logging.CRITICAL)
    out.mkdir(parents=True, exist_ok=True)
    os.chdir(out)
    generator = np.random.Generator(np.random.PCG64(20))
    symbol = network(mx)
    shapes, _, aux_shapes = symbol.infer_shape(data=SHAPE)
    arrays = [
        {name: mx.nd.array(drawn(name, shape, generator)) for name, shape in zip(names, found, strict=True)}
        for names, found in (
            (symbol.list_arguments()[1:], shapes[1:]),
            (symbol.list_auxiliary_states(), aux_shapes),
        )
    ]
    pictures = mx.nd.array(generator.uniform(-1, 1, (8, *SHAPE[1:])))
    data = mx.nd.array(generator.uniform(-1, 1, SHAPE))
    fused = symbol.get_backend_symbol("MKLDNN")
    mx.model.save_checkpoint("float", 0, symbol, *arrays)
    keep(mx, "fused", (fused, *arrays), data)
    for mode, dtype in KINDS:
        calibration = mx.io.NDArrayIter(pictures, None, SHAPE[0])
        calibrated = {} if mode == "none" else {"calib_data": calibration, "num_calib_examples": 8}
        made = quantization.quantize_model(
            fused, *arrays, ctx=mx.cpu(), calib_mode=mode, quantized_dtype=dtype, label_names=None, **calibrated
        )
        keep(mx, f"{mode}-{dtype}", (made[0].get_backend_symbol("MKLDNN_QUANTIZE"), *made[1:]), data)


def keep(mx: Any, name: str, model: tuple[Any, Any, Any], data: Any) -> None:
    """A checkpoint, and what MXNet computes of the data."""
    mx.model.save_checkpoint(name, 0, *model)
    bound = model[0].bind(mx.cpu(), {**model[1], "data": data}, aux_states=model[2], grad_req="null")
    np.savez(f"{name}.npz", data=data.asnumpy(), output=bound.forward(is_train=False)[0].asnumpy())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
