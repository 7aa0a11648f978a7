"""Fourier transforms and complex values. Complex results are not compared themselves, but by their parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.tensorflow.case import Case, Input, Network, data, ints
from tests.tensorflow.graphdef import const, node

OPSET = 17


def _spectrum(
    title: str, op: str, *shape: int, length: tuple[int, ...] = (), real: bool = False, dtype: str = "float32",
    **more: Any,
) -> Network:  # fmt: skip
    """A transform of real data, or of complex data made of two; its real and imaginary part."""
    complex_dtype = {"float32": "complex64", "float64": "complex128"}[dtype]
    types: dict[str, Any] = {"Tcomplex": complex_dtype}
    nodes: list[dict[str, Any]] = []
    inputs: list[Input] = [data(*shape, name="x", dtype=dtype)]
    operands = ["x"]
    if real:
        types["Treal"] = dtype
    else:
        inputs.append(data(*shape, name="z", dtype=dtype))
        nodes.append(node("Complex", "c", ["x", "z"], T=dtype, Tout=complex_dtype))
        operands = ["c"]
    if length:
        inputs.append(ints(*length, name="length"))
        operands.append("length")
    nodes.append(node(op, "t", operands, **types))
    nodes += [node(part, part, ["t"], T=complex_dtype, Tout=dtype) for part in ("Real", "Imag")]
    return _network(f"{op}-{title}", *nodes, inputs=tuple(inputs), fetch=("Real:0", "Imag:0"), **more)


def _network(title: str, *nodes: dict[str, Any], inputs: tuple[Input, ...], **more: Any) -> Network:
    return Network(title, inputs, {}, nodes=nodes, **{"least_opset": OPSET, **more})


def _back(title: str, op: str, *shape: int, length: tuple[int, ...], dtype: str = "float32", **more: Any) -> Network:
    """Complex data back to a real signal."""
    complex_dtype = {"float32": "complex64", "float64": "complex128"}[dtype]
    return _network(
        f"{op}-{title}",
        node("Complex", "c", ["x", "z"], T=dtype, Tout=complex_dtype),
        node(op, "y", ["c", "length"], Tcomplex=complex_dtype, Treal=dtype),
        inputs=(data(*shape, name="x", dtype=dtype), data(*shape, name="z", dtype=dtype), ints(*length, name="length")),
        **more,
    )


def _pair(*names: str) -> list[dict[str, Any]]:
    """Complex values made of the real ones x and z."""
    return [node("Complex", name, ["x", "z"], T="float32", Tout="complex64") for name in names]


X, Z = data(3, 8, name="x"), data(3, 8, name="z")
C64 = {"T": "complex64"}

CASES: tuple[Case, ...] = (
    _spectrum("whole", "RFFT", 3, 16, length=(16,), real=True),
    _spectrum("odd", "RFFT", 2, 3, 9, length=(9,), real=True),
    _spectrum("cut", "RFFT", 3, 16, length=(10,), real=True),
    _spectrum("double", "RFFT", 2, 8, length=(8,), real=True, dtype="float64"),
    _spectrum("image", "RFFT2D", 2, 6, 8, length=(6, 8), real=True),
    _spectrum("image-cut", "RFFT2D", 2, 6, 8, length=(4, 7), real=True),
    _spectrum("volume", "RFFT3D", 2, 3, 4, 6, length=(3, 4, 6), real=True),
    _spectrum("rows", "FFT", 3, 12),
    _spectrum("double", "FFT", 2, 9, dtype="float64"),
    _spectrum("rows", "IFFT", 3, 12),
    _spectrum("image", "FFT2D", 2, 6, 5),
    _spectrum("image", "IFFT2D", 2, 6, 5),
    _spectrum("volume", "FFT3D", 2, 3, 4, 5),
    _spectrum("volume", "IFFT3D", 2, 3, 4, 5),
    _back("even", "IRFFT", 3, 9, length=(16,)),
    _back("odd", "IRFFT", 3, 9, length=(17,)),
    _back("cut", "IRFFT", 3, 9, length=(7,)),
    _back("double", "IRFFT", 2, 5, length=(8,), dtype="float64"),
    _back("short", "IRFFT", 2, 3, length=(2,)),
    _back("image", "IRFFT2D", 2, 6, 5, length=(6, 8)),
    _back("volume", "IRFFT3D", 2, 3, 4, 4, length=(3, 4, 6)),
    _network(
        "stft-magnitude",
        node("Mul", "windowed", ["x", "window"], T="float32"),
        node("RFFT", "t", ["windowed", "length"], Treal="float32", Tcomplex="complex64"),
        node("ComplexAbs", "a", ["t"], **C64, Tout="float32"), node("Square", "y", ["a"], T="float32"),
        const("window", np.hanning(16), "float32"),
        inputs=(data(2, 5, 16, name="x"), ints(16, name="length")),
    ),
    _network(
        "filter", node("Cast", "c", ["x"], SrcT="float32", DstT="complex64"),
        node("FFT", "t", ["c"], Tcomplex="complex64"),
        node("Mul", "m", ["t", "w"], **C64), node("AddV2", "a", ["m", "t"], **C64), node("Sub", "s", ["a", "c"], **C64),
        node("Conj", "j", ["s"], **C64), node("IFFT", "b", ["j"], Tcomplex="complex64"),
        node("Identity", "i", ["b"], **C64),
        node("Real", "y", ["i"], **C64, Tout="float32"), node("Cast", "r", ["i"], SrcT="complex64", DstT="float32"),
        const("w", np.exp(np.linspace(0, 2, 8) * 1j).astype(np.complex64)), inputs=(X,), fetch=("y:0", "r:0"),
    ),
    _network(
        "parts", *_pair("c"), node("Angle", "y", ["c"], **C64, Tout="float32"),
        node("ComplexAbs", "a", ["c"], **C64, Tout="float32"), node("Imag", "i", ["c"], **C64, Tout="float32"),
        inputs=(X, Z), fetch=("y:0", "a:0", "i:0"), least_opset=0,
    ),
    _network(
        "precision", node("Cast", "c", ["x"], SrcT="float32", DstT="complex128"),
        node("Cast", "d", ["c"], SrcT="complex128", DstT="complex64"), node("Add", "e", ["d", "d"], **C64),
        node("Real", "y", ["e"], **C64, Tout="float32"), inputs=(X,), least_opset=0,
    ),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    _network("complex-output", *_pair("y"), inputs=(X, Z), reason="complex64"),
    _network(
        "operator-on-complex", *_pair("c"), node("Exp", "y", ["c"], **C64), inputs=(X, Z), reason="complex operands",
    ),
    _network(
        "complex-input", node("FFT", "y", ["x"], Tcomplex="complex64"),
        inputs=(data(3, 8, name="x", dtype="complex64"),),
        reason="does not come from parts",
    ),
)
