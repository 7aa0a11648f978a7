"""Capture gluon's model zoo (`mxnet.gluon.model_zoo.vision`) with live MXNet 1.9.1.

    python -m tests.models.zoo OUT [NAME...] [--size N]               (every model of the zoo without a name)

The folders hold what `capture.py` writes, the parameters follow the same rule: random, reproducible from their names.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.models import capture, symbols

# Where the last pooling has a fixed kernel only the size that it was written for will do.
FIXED_SIZES = {"inception": 299, "densenet": 224, "squeezenet": 224}


def zoo_names(mx: ModuleType) -> list[str]:
    """The names that `get_model` knows. It lists them only in the text of its error."""
    try:
        mx.gluon.model_zoo.vision.get_model("?")
    except ValueError as error:
        return re.findall(r"^\t?(\S+)$", str(error), re.MULTILINE)
    raise RuntimeError("get_model('?') did not fail")


def default_size(name: str) -> int:
    """Height and width: small where the network ends in a global pooling or in a layer that takes any size."""
    return next((size for start, size in FIXED_SIZES.items() if name.startswith(start)), 64)


def capture_zoo(name: str, out: Path, size: int | None = None, internals: bool = False) -> dict[str, Any]:
    """Capture the zoo's `name` with one picture of `size` into OUT/NAME; the symbol is what `export` would write."""
    mx = symbols.import_mxnet()
    side = size or default_size(name)
    network = mx.gluon.model_zoo.vision.get_model(name, prefix=re.sub(r"\W", "_", name) + "_")
    symbol = network(mx.sym.Variable("data"))
    return capture.capture_symbol(mx, symbol, {"data": (1, 3, side, side)}, {}, {}, out / name, internals)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Capture gluon's model zoo with live MXNet 1.9.1.")
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--size", type=int, help="height and width; by default the smallest that suits the model")
    parser.add_argument("--internals", action="store_true", help="also the value of every internal output")
    options = parser.parse_args(arguments)
    os.environ.update(capture.environment(onednn=False))
    for name in options.names or zoo_names(symbols.import_mxnet()):
        start = time.perf_counter()
        found = capture_zoo(name, options.out, options.size, options.internals)
        capture.report(name, found, time.perf_counter() - start)
    return 0


if __name__ == "__main__":
    sys.exit(main())
