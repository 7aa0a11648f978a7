"""GluonCV's classification networks as PyTorch modules, held against live MXNet.

    pip install --no-deps --target FOLDER gluoncv==0.10.5
    python benchmarks/zoo.py FOLDER [NAME...] [--list] [--log FILE]

A network is built by GluonCV and live MXNet with weights drawn from its name; its normalizations have the statistics of
drawn images. Images are 97 x 113 (CIFAR networks: 37 x 45), or larger where the network takes no such size. What MXNet
exports is converted with `verify` and an open batch. Then batches of 1 and 3 run in live MXNet and in the module, from
one file: printed are the verdict and, for each batch, the largest difference over the largest number.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
import zlib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

# The modules of GluonCV that hold classification networks, and what else they hold by the end of the name.
MODULES = (
    "alexnet", "cifarresnet", "cifarresnext", "cifarwideresnet", "darknet", "densenet", "dla", "googlenet",
    "hrnet", "inception", "mobilenet", "mobilenetv3", "nasnet", "residual_attentionnet", "resnest", "resnet",
    "resnetv1b", "resnetv1b_pruned", "resnext", "senet", "shufflenet", "squeezenet", "vgg", "xception",
)  # fmt: skip
OTHER_TASKS = ("_int8", "_s")
# What GluonCV imports and these networks do not use.
UNUSED = (
    "autocfg",
    "cv2",
    "matplotlib",
    "matplotlib.pyplot",
    "pandas",
    "portalocker",
    "requests",
    "tqdm",
    "yacs",
    "yacs.config",
)


class Unused(ModuleType):
    """A module whose every name is a class."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def import_zoo(folder: str) -> dict[str, Any]:
    """Return GluonCV's functions by name of the network. MXNet 1.9.1 and GluonCV use names that NumPy 1.24 removed."""
    for name, kind in (("bool", bool), ("float", float), ("int", int), ("object", object)):
        setattr(np, name, kind)
    sys.modules.update({name: Unused(name) for name in UNUSED if find_spec(name.partition(".")[0]) is None})
    sys.path.append(folder)
    import_module("mxnet")
    sys.modules["torch"] = None  # type: ignore[assignment]  # GluonCV's second half
    zoo = import_module("gluoncv.model_zoo.model_zoo")
    del sys.modules["torch"]
    return {
        name: function
        for name, function in vars(zoo)["_models"].items()
        if (function.__module__.rpartition(".")[2] in MODULES or name == "darknet53") and not name.endswith(OTHER_TASKS)
    }


def sizes(name: str) -> list[tuple[int, int]]:
    """Return heights and widths to try, odd ones first."""
    if name.startswith("cifar"):
        return [(37, 45), (32, 32)]
    return [(97, 113), (291, 307), (299, 299)] if "ception" in name else [(97, 113), (197, 229), (224, 224)]


def fill(network: Any, seed: int, images: Any) -> None:
    """Draw the weights, and set the statistics of normalizations to those of images."""
    mx, draw = import_module("mxnet"), np.random.default_rng(seed)
    for name, parameter in network.collect_params().items():
        shape = parameter.shape
        if name.endswith(("running_mean", "running_var")):
            continue
        if name.endswith("gamma"):
            weight = draw.uniform(0.6, 1.4, shape)
        else:
            spread = 0.1 if name.endswith(("beta", "bias")) else (2 / max(1, np.prod(shape[1:]))) ** 0.5
            weight = draw.normal(0, spread, shape)
        parameter.set_data(mx.nd.array(weight.astype(np.float32)))
    layers: list[Any] = []
    network.apply(lambda block: layers.append(block) if "BatchNorm" in type(block).__name__ else None)
    momenta = [layer._kwargs["momentum"] for layer in layers]
    for layer in layers:
        layer._kwargs["momentum"] = 0.0
    with mx.autograd.record(train_mode=True):
        network(images)
    mx.nd.waitall()
    for layer, momentum in zip(layers, momenta, strict=True):
        layer._kwargs["momentum"] = momentum


def build(function: Any, size: tuple[int, int], seed: int) -> Any:
    """Return a network with weights. Raises what MXNet raises where it does not take images of a size."""
    mx = import_module("mxnet")
    mx.random.seed(seed)
    images = mx.nd.array(np.random.default_rng(seed + 1).normal(0, 1, (4, 3, *size)).astype(np.float32))
    network = function(pretrained=False)
    network.initialize()
    network(images[:1]).wait_to_read()
    fill(network, seed, images)
    network.hybridize()
    network(images[:1]).wait_to_read()
    return network


def judge(name: str, function: Any, folder: Path) -> dict[str, Any]:
    """Return what became of a network."""
    import graphir

    mx, torch, seed = import_module("mxnet"), import_module("torch"), zlib.crc32(name.encode()) >> 1
    refusals = {}
    for size in sizes(name):
        try:
            network = build(function, size, seed)
        except Exception as error:  # MXNet's errors, and Python's of GluonCV's own code
            refusals[str(size)] = str(error).strip().splitlines()[-1][:200]
        else:
            break
    else:
        return {"name": name, "verdict": "not built", "refusals": refusals}
    network.export(str(folder / "model"), 0)
    started, target = time.process_time(), folder / "net.py"
    report = graphir.convert(
        folder / "model-symbol.json",
        target,
        params=folder / "model-0000.params",
        shapes={"data": ("N", 3, *size)},
        verify=True,
    )
    row: dict[str, Any] = {
        "name": name,
        "verdict": str(report.verification and report.verification.verdict),
        "size": size,
        "refusals": refusals,
    }
    row["seconds"], text = round(time.process_time() - started, 1), target.read_text(encoding="ascii")
    names: dict[str, Any] = {"__file__": str(target)}
    exec(compile(text, str(target), "exec"), names)
    module = names["load"](target.with_suffix(".safetensors"))
    images = np.random.default_rng(seed + 2).normal(0, 1, (3, 3, *size)).astype(np.float32)
    for batch in (1, 3):
        expected = network(mx.nd.array(images[:batch])).asnumpy()
        with torch.no_grad():
            result = module(torch.from_numpy(images[:batch])).numpy()
        row[f"batch of {batch}"] = float(np.abs(result - expected).max() / np.abs(expected).max())
    return {**row, "lines": len(text.splitlines())}


def main() -> int:
    """Print a line for each network; 1 if any is not verified."""
    parser = argparse.ArgumentParser(
        description="GluonCV's classification networks as PyTorch modules, against live MXNet."
    )
    parser.add_argument("folder", help="where GluonCV is installed")
    parser.add_argument("names", nargs="*", metavar="NAME", help="networks; all without a name")
    parser.add_argument("--list", action="store_true", help="print the names only")
    parser.add_argument("--log", type=Path, help="a file that gets a line of JSON for each network")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    zoo = import_zoo(options.folder)
    if options.list:
        print(len(zoo), *zoo)
        return 0
    passed = True
    for name in options.names or zoo:
        with tempfile.TemporaryDirectory() as folder:
            row = judge(name, zoo[name], Path(folder))
        passed &= row["verdict"] in ("identical", "equal within rounding")
        print(row, flush=True)
        if options.log:
            with options.log.open("a", encoding="ascii") as stream:
                stream.write(json.dumps(row) + "\n")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
