"""graphir: a framework-neutral graph IR, and on it a converter from MXNet to ONNX that proves its results.

The public names are below; each is imported when it is first used, so that `import graphir` stays light.
"""

import sys
from importlib import import_module  # which is part of the interpreter

# `python -m graphir` puts the current folder first, and a folder of models may have a typing.py or a __future__.py.
# While the interpreter looks for the module to run, the first argument is "-m".
if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:
    _run = [name for option, name in zip(sys.orig_argv, sys.orig_argv[1:], strict=False) if option == "-m"][:1]
    if "-mgraphir" in sys.orig_argv or [name.partition(".")[0] for name in _run] == ["graphir"]:
        del sys.path[0]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .analysis.cost import cost
    from .benchmark import BenchOptions, bench
    from .checking import check
    from .conversion import convert
    from .converters import load, save
    from .converters.kernel.live import Live
    from .converters.options import ModelOptions
    from .converters.session import Session
    from .drawing import Plot, plot
    from .errors import (
        DeviceLost,
        ExportFailure,
        FormatError,
        GraphError,
        GraphirError,
        ImportFailure,
        ProviderError,
        RunError,
        ShapeError,
        UnsupportedOpError,
        VerificationError,
    )
    from .graph import Decision, Graph, Node, Value
    from .inference import infer_types
    from .inspection import diff, padding, shapes, summary
    from .memory_use import memory
    from .quantization.options import QuantizeOptions
    from .quantization.run import quantize
    from .report import ConversionReport
    from .report.benchmark import BenchmarkReport
    from .report.quantization import QuantizationReport
    from .report.simplification import SimplificationReport
    from .simplification import simplify
    from .tensor import Tensor
    from .types import DType, TensorType
    from .verification.models import verify
    from .verification.options import ComparisonOptions
    from .verification.report import VerificationReport

__version__ = "0.1.0"

_HOMES = {
    "BenchOptions": "graphir.benchmark",
    "BenchmarkReport": "graphir.report.benchmark",
    "ComparisonOptions": "graphir.verification.options",
    "ConversionReport": "graphir.report",
    "DType": "graphir.types",
    "Decision": "graphir.graph",
    "DeviceLost": "graphir.errors",
    "ExportFailure": "graphir.errors",
    "FormatError": "graphir.errors",
    "Graph": "graphir.graph",
    "GraphError": "graphir.errors",
    "GraphirError": "graphir.errors",
    "ImportFailure": "graphir.errors",
    "Live": "graphir.converters.kernel.live",
    "ModelOptions": "graphir.converters.options",
    "Node": "graphir.graph",
    "Plot": "graphir.drawing",
    "ProviderError": "graphir.errors",
    "QuantizationReport": "graphir.report.quantization",
    "QuantizeOptions": "graphir.quantization.options",
    "RunError": "graphir.errors",
    "Session": "graphir.converters.session",
    "ShapeError": "graphir.errors",
    "SimplificationReport": "graphir.report.simplification",
    "Tensor": "graphir.tensor",
    "TensorType": "graphir.types",
    "UnsupportedOpError": "graphir.errors",
    "Value": "graphir.graph",
    "VerificationError": "graphir.errors",
    "VerificationReport": "graphir.verification.report",
    "bench": "graphir.benchmark",
    "check": "graphir.checking",
    "convert": "graphir.conversion",
    "cost": "graphir.analysis.cost",
    "diff": "graphir.inspection",
    "infer_types": "graphir.inference",
    "load": "graphir.converters",
    "memory": "graphir.memory_use",
    "plot": "graphir.drawing",
    "quantize": "graphir.quantization.run",
    "save": "graphir.converters",
    "shapes": "graphir.inspection",
    "simplify": "graphir.simplification",
    "summary": "graphir.inspection",
    "verify": "graphir.verification.models",
}


def __getattr__(name: str) -> "Any":
    if name in ("ops", "padding"):  # a module, and a function that stands for one
        return import_module(f"graphir.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'graphir' has no attribute {name!r}")
    from .safety.collector import paused_collector

    with paused_collector():
        value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "ops", *(name for name in globals() if name.startswith("__"))])


__all__ = [
    "BenchOptions",
    "BenchmarkReport",
    "ComparisonOptions",
    "ConversionReport",
    "DType",
    "Decision",
    "DeviceLost",
    "ExportFailure",
    "FormatError",
    "Graph",
    "GraphError",
    "GraphirError",
    "ImportFailure",
    "Live",
    "ModelOptions",
    "Node",
    "Plot",
    "ProviderError",
    "QuantizationReport",
    "QuantizeOptions",
    "RunError",
    "Session",
    "ShapeError",
    "SimplificationReport",
    "Tensor",
    "TensorType",
    "UnsupportedOpError",
    "Value",
    "VerificationError",
    "VerificationReport",
    "__version__",
    "bench",
    "check",
    "convert",
    "cost",
    "diff",
    "infer_types",
    "load",
    "memory",
    "padding",
    "plot",
    "quantize",
    "save",
    "shapes",
    "simplify",
    "summary",
    "verify",
]
