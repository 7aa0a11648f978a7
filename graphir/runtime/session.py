"""Sessions: a graph or file run by onnxruntime, on the CPU or on CUDA, without silent fallbacks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ProviderError, VerificationError

if TYPE_CHECKING:
    from ..graph import Graph

PROVIDERS = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
}
INSTALL = "install one of: pip install 'graphir-converter[cpu]', pip install 'graphir-converter[gpu]'"


def import_onnxruntime() -> Any:
    """The onnxruntime module, quiet below errors. Raises ProviderError saying what to install."""
    try:
        import onnxruntime
    except ImportError as error:
        raise ProviderError(f"onnxruntime is not installed; {INSTALL}") from error
    onnxruntime.set_default_logger_severity(3)
    return onnxruntime


def provider_names(providers: str | Sequence[str]) -> list[str]:
    """onnxruntime's names for what was asked: `auto`, `cpu`, `cuda`, a provider's own name, or several of them.

    `auto` is CUDA where the installed onnxruntime has it, else the CPU. Raises ProviderError for one that is missing.
    """
    available = import_onnxruntime().get_available_providers()
    if providers == "auto":
        cuda = PROVIDERS["cuda"]
        return [cuda, PROVIDERS["cpu"]] if cuda in available else [PROVIDERS["cpu"]]
    asked = [providers] if isinstance(providers, str) else list(providers)
    names = [PROVIDERS.get(name.lower(), name) for name in asked]
    for name in names:
        if name not in available:
            raise ProviderError(f"{name} was asked for, but onnxruntime has only {', '.join(available)}; {INSTALL}")
    if PROVIDERS["cpu"] not in names:
        names.append(PROVIDERS["cpu"])
    return names


class Session:
    """A model ready to run.

    `model` is a Graph, the bytes of an ONNX model, or a path to anything that `graphir.load` reads; an .onnx file goes
    to onnxruntime as it is. `providers` is `auto`, `cpu`, `cuda` or a sequence of onnxruntime's names. A provider that
    was asked for and cannot run is a ProviderError, never a fallback; `session.providers` says which ones do run.
    On CUDA, TF32 is off unless `tf32`. `optimize=False` turns onnxruntime's graph optimisations off.
    """

    def __init__(
        self,
        model: Graph | bytes | str | os.PathLike[str],
        *,
        providers: str | Sequence[str] = "auto",
        optimize: bool = True,
        tf32: bool = False,
        threads: int = 0,
        opset: int | None = None,
    ) -> None:
        runtime = import_onnxruntime()
        asked = provider_names(providers)
        options = runtime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = threads
        level = runtime.GraphOptimizationLevel
        options.graph_optimization_level = level.ORT_ENABLE_ALL if optimize else level.ORT_DISABLE_ALL
        with_options = [
            (name, {"use_tf32": int(tf32)}) if name == PROVIDERS["cuda"] else name for name in asked
        ]
        with tempfile.TemporaryDirectory(prefix="graphir-") as folder:
            source = _loadable(model, Path(folder), opset)
            try:
                self._session = runtime.InferenceSession(source, options, providers=with_options)
            except Exception as error:
                raise VerificationError(f"onnxruntime refuses the model: {_first_line(error)}") from error
        self.providers: tuple[str, ...] = tuple(self._session.get_providers())
        if providers != "auto":
            lost = [name for name in asked if name not in self.providers]
            if lost:
                raise ProviderError(
                    f"{', '.join(lost)} was asked for but did not start (running: {', '.join(self.providers)}); "
                    "check the driver and the CUDA and cuDNN libraries"
                )
        self.inputs = {item.name: tuple(item.shape) for item in self._session.get_inputs()}
        self.input_dtypes = {item.name: _numpy_dtype(item.type) for item in self._session.get_inputs()}
        self.outputs = tuple(item.name for item in self._session.get_outputs())

    def run(
        self, feeds: Mapping[str, NDArray[Any]], outputs: Sequence[str] | None = None
    ) -> dict[str, NDArray[Any]]:
        """The outputs (all, or those named) by name. Raises VerificationError for feeds that do not fit."""
        missing = [name for name in self.inputs if name not in feeds]
        unknown = [name for name in feeds if name not in self.inputs]
        if missing or unknown:
            raise VerificationError(
                f"the model's inputs are {', '.join(self.inputs) or 'none'}; "
                f"missing: {', '.join(missing) or 'none'}; unknown: {', '.join(unknown) or 'none'}"
            )
        names = list(self.outputs if outputs is None else outputs)
        arrays = {
            name: np.asarray(value, dtype=self.input_dtypes[name]) if self.input_dtypes[name] else value
            for name, value in feeds.items()
        }
        try:
            results = self._session.run(names, arrays)
        except Exception as error:
            raise VerificationError(f"onnxruntime failed to run the model: {_first_line(error)}") from error
        return dict(zip(names, results, strict=True))


def _loadable(model: Graph | bytes | str | os.PathLike[str], folder: Path, opset: int | None) -> str | bytes:
    """What onnxruntime can open: a path or bytes. Large graphs are written to `folder`."""
    if isinstance(model, bytes):
        return model
    if isinstance(model, str | os.PathLike):
        if Path(model).suffix == ".onnx":
            if not Path(model).is_file():
                raise VerificationError(f"{model}: no such file")
            return os.fspath(model)
        from graphir.converters import load

        model = load(model)
    from graphir.converters.onnx import save

    target = folder / "model.onnx"
    save(model, target, opset=opset, weights="auto")
    return os.fspath(target)


def _numpy_dtype(onnx_type: str) -> np.dtype[Any] | None:
    """The numpy dtype behind onnxruntime's name for a type, as `tensor(float)`; None for what numpy cannot hold."""
    names = {"float": "float32", "double": "float64"}
    inner = onnx_type.removeprefix("tensor(").removesuffix(")")
    try:
        return np.dtype(names.get(inner, inner))
    except TypeError:
        return None


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


__all__ = ["PROVIDERS", "Session", "import_onnxruntime", "provider_names"]
