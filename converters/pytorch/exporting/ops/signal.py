"""Spectra of signals, whose last axis holds real and imaginary part, by torch.fft."""

from __future__ import annotations

from graphir.converters.pytorch.exporting.context import AnyNode, ExportNode, Expr, binary, call, dtype_text, row, table
from graphir.ops import signal as ir
from graphir.ops.base import normalize_axis
from graphir.types import DType


def signal_of(node: AnyNode) -> Expr:
    """Return the first operand as real or complex numbers, in a type that torch transforms."""
    data, parts = node.tensor(), node.shape()[-1]
    if node.dtype() not in (DType.FLOAT32, DType.FLOAT64):
        data = Expr(f"{data.atom}.float()")
    if parts == 1:
        return Expr(f"{data.atom}.squeeze(-1)")
    if parts != 2:
        node.refuse(f"whether {node.input(0).name} is real or complex is open; state the inputs' shapes")
    return Expr(f"torch.view_as_complex({data.atom}.contiguous())")


def spectrum(node: AnyNode, data: Expr, length: str | None, dim: str | None, size: str | None) -> None:
    """The result: the transform of a signal; a one-sided one gives half of the places of `size`."""
    if size is None or node.shape()[-1] == 1:
        text = call("torch.fft.fft" if size is None else "torch.fft.rfft", data, n=length, dim=dim)
    else:
        places = binary("+", binary("//", size, "2"), "1")
        text = f"{call('torch.fft.fft', data, n=length, dim=dim)}.narrow({dim or -1}, 0, {places})"
    finish(node, f"torch.view_as_real({text})")


def finish(node: AnyNode, text: str) -> None:
    """The result in its own type."""
    dtype = node.result_dtype()
    node.emit(text if dtype in (DType.FLOAT32, DType.FLOAT64) else node.cast(text, dtype))


def export_dft(node: ExportNode[ir.DFT]) -> None:
    """torch.fft.fft, ifft, rfft or irfft."""
    op = node.op
    length = None if node.optional(1) is None else str(node.scalar(1))
    dim = dim_of(node)
    data = signal_of(node)
    if op.inverse:
        text = call("torch.fft.irfft" if op.onesided else "torch.fft.ifft", data, n=length, dim=dim)
        # Of a real signal torch gives numbers whose conjugation is still to be done.
        text += ".resolve_conj()" if node.shape()[-1] == 1 and not op.onesided else ""
        finish(node, f"{text}.unsqueeze(-1)" if op.onesided else f"torch.view_as_real({text})")
        return
    spectrum(node, data, length, dim, (length or f"{data.atom}.shape[{dim or -1}]") if op.onesided else None)


def dim_of(node: AnyNode) -> str | None:
    """Return the axis among those before the last one, None for the last of them; one that a run states counts from
    0."""
    rank = node.rank()
    number = "-2" if node.optional(2) is None else str(node.scalar(2))
    if not number.removeprefix("-").isdigit():
        return str(node.step(binary("%", number, str(rank)), "axis"))
    axis = normalize_axis(int(number), rank) - (rank - 1)
    return None if axis == -1 else str(axis)


def export_stft(node: ExportNode[ir.STFT]) -> None:
    """The windows by unfold, times their weights, by torch.fft."""
    length = str(node.scalar(3)) if node.optional(3) is not None else str(node.size(2, 0))
    frames = Expr(f"{signal_of(node).atom}.unfold(1, {length}, {node.scalar(1)})")
    if node.optional(2) is not None:
        frames = binary("*", frames, node.tensor(2))
    spectrum(node, node.step(frames, "frames"), None, None, length if node.op.onesided else None)


def export_mel(node: ExportNode[ir.MelWeightMatrix]) -> None:
    """A function of the file, of numbers."""
    numbers = [node.scalar(slot) for slot in range(5)]
    dtype = dtype_text(node.result_dtype())
    node.emit(call(node.function("mel_weights"), *numbers, dtype, node.device))


EXPORTS = table(row(ir.DFT, export_dft), row(ir.STFT, export_stft), row(ir.MelWeightMatrix, export_mel))
