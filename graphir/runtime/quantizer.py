"""onnxruntime.quantization on files: ranges of activations, and models with weights of 8 and 4 bits."""

from __future__ import annotations

import copy
import io
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from graphir.errors import ExportFailure, GraphirError
from graphir.extras import install_hint
from graphir.safety.counted import counted
from graphir.structure.record import record

from .providers import import_onnxruntime

Feed = Mapping[str, NDArray[Any]]
METHODS = {"minmax": "MinMax", "entropy": "Entropy", "percentile": "Percentile"}
ACTIVATIONS = {"int8": "QInt8", "uint8": "QUInt8", "int16": "QInt16", "uint16": "QUInt16"}
# MatMulNBits and its quantizer take powers of two from 16 on; its CPU kernel has them up to 256.
BLOCKS = (16, 32, 64, 128, 256)
# Operators that stay float in dynamic models: MobileNet with ConvInteger takes 7 times as long as in float32.
SLOW_INTEGERS = frozenset({"Conv"})
# What is added to a Gemm's name where the quantizer writes it as a product and a sum.
PRODUCT_OF_GEMM = "_MatMul"


@record
class Precision:
    """How weights and activations are rounded; see `graphir.quantize`."""

    kind: str = "static"
    activations: str = "uint8"
    method: str = "minmax"
    per_channel: bool = True
    reduce_range: bool = False
    block_size: int = 32


def check_quantizer(kind: str) -> str:
    """Return the version of onnxruntime whose quantization is used. Raises GraphirError where it, or a package that it
    needs for this kind, is missing."""
    version: str = import_onnxruntime().__version__
    with _refusals("cannot be imported"):
        try:
            import_module("onnxruntime.quantization")
            if kind == "int4":
                import_module("onnxruntime.quantization.matmul_nbits_quantizer")
        except ImportError as error:
            raise ExportFailure(
                f"onnxruntime {version} needs {error.name or 'a package'} for kind {kind}, which is not installed: "
                f"{install_hint('quantization')}"
            ) from error
    return version


def prepare_model(path: Path, target: Path) -> None:
    """Write a copy whose nodes are fused as onnxruntime would do it later (a normalization is part of its convolution),
    and whose values have types."""
    with _refusals("cannot be prepared"):
        from onnxruntime.quantization import quant_pre_process

        quant_pre_process(str(path), str(target), skip_symbolic_shape=True)


def measure_ranges(path: Path, feeds: Collection[Callable[[], Feed]], how: Precision, augmented: Path) -> Any:
    """Return the ranges of activations as onnxruntime's calibrator of this method has them.

    One batch is run at a time, and what it gave is reduced to ranges or histograms before the next.
    """
    with _refusals("cannot be calibrated"):
        from onnxruntime.quantization import CalibrationMethod, create_calibrator

        calibrator = create_calibrator(
            path, _static_operators(), augmented_model_path=str(augmented),
            calibrate_method=CalibrationMethod[METHODS[how.method]], extra_options={"symmetric": False},
        )  # fmt: skip
        for make in counted(feeds, "batch"):
            calibrator.collect_data(_OneBatch(make()))
        return calibrator.compute_data()


def write_quantized(path: Path, target: Path, how: Precision, kept: Collection[str], ranges: Any = None) -> None:
    """Write a quantized copy of a model; the nodes whose names are `kept` stay float. `ranges` are those of
    `measure_ranges`, which a static model needs."""
    names = sorted({*kept, *(f"{name}{PRODUCT_OF_GEMM}" for name in kept)})
    with _refusals("cannot be quantized"):
        if how.kind == "dynamic":
            _write_dynamic(path, target, how, names)
        else:
            quantizer = _static(path, how, names, ranges) if how.kind == "static" else _int4(path, how, names)
            quantizer.model.save_model_to_file(str(target), False)


def _static(path: Path, how: Precision, kept: list[str], ranges: Any) -> Any:
    from onnxruntime.quantization import QDQQuantizer, QuantType
    from onnxruntime.quantization.quant_utils import load_model_with_shape_infer

    quantizer = QDQQuantizer(
        load_model_with_shape_infer(path), how.per_channel, how.reduce_range, QuantType.QInt8,
        QuantType[ACTIVATIONS[how.activations]], copy.deepcopy(ranges), [], kept, _static_operators(), {},
    )  # fmt: skip
    quantizer.quantize_model()
    return quantizer


def _write_dynamic(path: Path, target: Path, how: Precision, kept: list[str]) -> None:
    from onnxruntime.quantization import quantize_dynamic
    from onnxruntime.quantization.registry import IntegerOpsRegistry

    quantize_dynamic(
        path, target, [name for name in IntegerOpsRegistry if name not in SLOW_INTEGERS], how.per_channel,
        how.reduce_range, nodes_to_exclude=kept,
    )  # fmt: skip


def _int4(path: Path, how: Precision, kept: list[str]) -> Any:
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    quantizer = MatMulNBitsQuantizer(str(path), block_size=how.block_size, is_symmetric=True, nodes_to_exclude=kept)
    quantizer.model.replace_gemm_with_matmul()
    quantizer.process()
    return quantizer


def _static_operators() -> list[str]:
    """Return the operators that quantize_static takes if none are named."""
    from onnxruntime.quantization.registry import QDQRegistry, QLinearOpsRegistry

    return sorted({*QDQRegistry, *QLinearOpsRegistry})


class _OneBatch:
    """A reader of calibration data that has one batch."""

    def __init__(self, feeds: Feed) -> None:
        self._feeds: Feed | None = feeds

    def get_next(self) -> Feed | None:
        """Return the batch, then None."""
        feeds, self._feeds = self._feeds, None
        return feeds


@contextmanager
def _refusals(what: str) -> Iterator[None]:
    """Turn the errors of onnxruntime.quantization into GraphirErrors, and let it neither print nor log warnings."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with redirect_stdout(io.StringIO()):
            yield
    except (GraphirError, MemoryError):
        raise
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ExportFailure(f"the model {what} by onnxruntime.quantization: {lines[0][:300]}") from error
    finally:
        logging.disable(level)
