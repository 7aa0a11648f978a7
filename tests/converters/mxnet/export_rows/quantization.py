"""Quantized numbers, and operators on bits."""

from __future__ import annotations

import numpy as np

from tests.converters.mxnet.exporting import Array, Row, integers, normal

HALVES = (np.arange(-12, 12) / 2).reshape(4, 6).astype(np.float32)
FAR = np.array([[1e9, -1e9, 300, -300, 0.4999, 127.5]], np.float32)


def scalar(number: float, dtype: str = "float32") -> Array:
    """A tensor without axes."""
    return np.array(number, dtype)


def quantize(variant: str, data: Array, scale: Array, zero: Array | None = None, **options: object) -> Row:
    """A QuantizeLinear; options of Row are opset, evaluator and widened, all others are attributes."""
    known = {"opset", "evaluator", "widened"}
    attrs = {key: value for key, value in options.items() if key not in known}
    held = {"s": scale} | ({} if zero is None else {"z": zero})
    rest = {key: value for key, value in options.items() if key in known}
    return Row(f"QuantizeLinear-{variant}", "QuantizeLinear", attrs, {"x": data}, held, **rest)  # type: ignore[arg-type]


def dequantize(variant: str, data: Array, scale: Array, zero: Array | None = None, **options: object) -> Row:
    """A DequantizeLinear, as `quantize`."""
    row = quantize(variant, data, scale, zero, **options)
    return Row(f"DequantizeLinear-{variant}", "DequantizeLinear", row.attrs, row.data, row.held, opset=row.opset,
               evaluator=row.evaluator, widened=row.widened)  # fmt: skip


def shift(direction: str, left: Array, right: Array, opset: int = 11, held: bool = False) -> Row:
    """A BitShift."""
    name = f"BitShift-{direction}_{left.dtype}{'_held' if held else ''}_{left.ndim}"
    inner = {"x": left} if held else {"x": left, "y": right}
    return Row(name, "BitShift", {"direction": direction}, inner, {"y": right} if held else {}, opset=opset,
               evaluator=True, widened=left.dtype.itemsize == 2 or str(left.dtype) == "uint32")  # fmt: skip


BYTES = integers(0, 255, 3, 4, dtype="uint8")
SIGNED = integers(-999, 999, 3, 4, dtype="int32")
# Weights within 63: processors without VNNI add products with uint8 in pairs that saturate at int16.
CONV = {
    "x": integers(0, 255, 1, 3, 6, 5, dtype="uint8"), "xs": scalar(0.02), "xz": scalar(128, "uint8"),
    "w": integers(-63, 63, 4, 3, 3, 2, dtype="int8"), "ws": scalar(0.01), "wz": scalar(0, "int8"),
    "ys": scalar(0.5), "yz": scalar(100, "uint8"),
}  # fmt: skip
BY_FILTER = CONV | {"ws": np.array([0.01, 0.02, 0.005, 0.03], np.float32), "wz": np.zeros(4, np.int8)}

BATCHES = dict.fromkeys(("QuantizeLinear", "DequantizeLinear", "QLinearConv", "BitShift"), ("x",))

ROWS = (
    quantize("ties", HALVES, scalar(1.0), scalar(3, "uint8")),
    quantize("far", FAR, scalar(1.0), scalar(-5, "int8")),
    quantize("no_zero", HALVES * 40, scalar(0.5)),
    quantize("vector", normal(2, 4, 3), np.array([0.1, 0.2, 0.05, 0.3], np.float32), integers(0, 9, 4, dtype="uint8")),
    quantize("last_axis", normal(2, 3), np.array([0.1, 0.2, 0.05], np.float32), np.zeros(3, np.int8), axis=-1),
    quantize("blocks", normal(2, 6), np.abs(normal(2, 3)) + 0.1, np.zeros((2, 3), np.uint8), block_size=2, opset=21),
    quantize("uneven_blocks", normal(5, 3), np.abs(normal(3, 3)) + 0.1, integers(0, 9, 3, 3, dtype="uint8"),
             axis=0, block_size=2, opset=21),
    quantize("wide", normal(3, 4) * 1e4, scalar(0.25), scalar(1000, "uint16"), opset=21, widened=True),
    quantize("wide_signed", normal(3, 4) * 1e4, scalar(0.25), scalar(-7, "int16"), opset=21, widened=True),
    quantize("integers", SIGNED, scalar(7.0), scalar(3, "int8"), opset=13),
    Row("QuantizeLinear-computed", "QuantizeLinear", {},
        {"x": HALVES, "s": scalar(0.3).reshape(1), "z": np.array([7], np.uint8)}),
    dequantize("zero", BYTES, scalar(0.1), scalar(128, "uint8")),
    dequantize("no_zero", BYTES, scalar(0.1)),
    dequantize("vector", integers(-128, 127, 2, 4, 3, dtype="int8"), np.abs(normal(4)),
               integers(-5, 5, 4, dtype="int8"), axis=1),
    dequantize("blocks", BYTES, np.abs(normal(3, 2)), integers(0, 9, 3, 2, dtype="uint8"), block_size=2, opset=21),
    dequantize("int32", SIGNED * 99999, scalar(1e-4)),
    dequantize("int32_zero", SIGNED * 99999, scalar(1e-4), scalar(0, "int32")),
    dequantize("half", BYTES, scalar(0.1, "float16"), scalar(3, "uint8"), opset=19),
    Row("DynamicQuantizeLinear", "DynamicQuantizeLinear", {}, {"x": normal(3, 5)}, outputs=3),
    Row("DynamicQuantizeLinear-positive", "DynamicQuantizeLinear", {}, {"x": np.abs(normal(7))}, outputs=3),
    Row("DynamicQuantizeLinear-zeros", "DynamicQuantizeLinear", {}, {"x": np.zeros((2, 3), np.float32)}, outputs=3),
    Row("DynamicQuantizeLinear-negative", "DynamicQuantizeLinear", {}, {"x": -np.abs(normal(2, 2, 2))}, outputs=3),
    Row("QLinearConv", "QLinearConv", {"pads": [1, 0, 0, 1]}, {"x": CONV["x"]},
        {name: array for name, array in CONV.items() if name != "x"}, tuple(CONV)),
    Row("QLinearConv-bias", "QLinearConv", {"strides": [2, 1]}, {"x": CONV["x"]},
        {name: array for name, array in CONV.items() if name != "x"} | {"b": integers(-999, 999, 4, dtype="int32")},
        (*CONV, "b")),
    Row("QLinearConv-by_filter", "QLinearConv", {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, {"x": CONV["x"]},
        {name: array for name, array in BY_FILTER.items() if name != "x"}, tuple(CONV)),
    *(
        Row(f"{op}-{dtype}", op, {},
            {"x": integers(0, 100, 2, 3, 4, dtype=dtype), "y": integers(0, 100, 3, 1, dtype=dtype)}, opset=18,
            widened=dtype in ("int16", "uint16", "uint32"))
        for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")
        for dtype in ("uint8", "int8", "int32", "int64", "int16", "uint16", "uint32")
    ),
    *(
        Row(f"BitwiseNot-{dtype}", "BitwiseNot", {}, {"x": integers(0, 100, 2, 3, dtype=dtype)}, opset=18,
            widened=dtype in ("int16", "uint16", "uint32"))
        for dtype in ("uint8", "int8", "int32", "int64", "int16", "uint16", "uint32")
    ),
    *(
        shift(direction, integers(0, 255, 3, 4, dtype=dtype), integers(0, 7, 4, dtype=dtype), held=held)
        for direction in ("LEFT", "RIGHT") for dtype in ("uint8", "uint16", "uint32") for held in (False, True)
    ),
    shift("LEFT", integers(0, 255, 7, dtype="uint8"), integers(0, 20, 7, dtype="uint8")),
    shift("RIGHT", integers(0, 255, 7, dtype="uint8"), integers(0, 20, 7, dtype="uint8")),
)  # fmt: skip
REFUSED: tuple[tuple[Row, str], ...] = ()
KEPT_CLOSED = ("QuantizeLinear-uneven_blocks",)
