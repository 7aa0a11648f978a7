"""Attention and what stands beside it, against onnx's own evaluator."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.converters.mxnet.exporting import Array, Row, integers, normal


def attend(variant: str, heads: tuple[int, int] = (3, 3), more: dict[str, Array] | None = None, **options: Any) -> Row:
    """An Attention of 4 queries and 6 keys for two rows; `more` are operands by slot name."""
    outputs, dtype = options.pop("outputs", 1), options.pop("dtype", "float32")
    packed = options.pop("packed", False)
    queries, keys, values = normal(2, heads[0], 4, 8), normal(2, heads[1], 6, 8), normal(2, heads[1], 6, 5)
    data = {"q": queries, "k": keys, "v": values}
    if packed:
        data = {name: np.swapaxes(array, 1, 2).reshape(2, array.shape[2], -1) for name, array in data.items()}
        options |= {"q_num_heads": heads[0], "kv_num_heads": heads[1]}
    data = {name: array.astype(dtype) for name, array in data.items()}
    given = data | (more or {})
    order = tuple(name if name in given else "" for name in ("q", "k", "v", "mask", "pk", "pv", "n"))
    while not order[-1]:
        order = order[:-1]
    return Row(f"Attention-{variant}", "Attention", options, given, {}, order, outputs=outputs,
               opset=24 if "left_window_size" not in options and "right_window_size" not in options else 25,
               evaluator=True, computes=("batch_dot", "softmax"), tolerance=1e-4)  # fmt: skip


def mask(*shape: int) -> Array:
    """A mask of truths that hides all keys from the second query."""
    found = integers(0, 1, *shape).astype(bool)
    found[..., 0] = True
    found[..., 1, :] = False
    return found


PAST = {"pk": normal(2, 3, 3, 8), "pv": normal(2, 3, 3, 5)}
LENGTHS = {"n": np.array([6, 4], np.int64)}


def rotated(variant: str, data: Array, size: int, *, places: bool = False, **attrs: Any) -> Row:
    """A RotaryEmbedding; `size` is half the number of elements that turn."""
    length = data.shape[2] if data.ndim == 4 else data.shape[1]
    shape = (9, size) if places else (data.shape[0], length, size)
    operands = {"x": data, "c": normal(*shape), "s": normal(*shape)}
    if places:
        operands["p"] = integers(0, 8, data.shape[0], length)
    return Row(f"RotaryEmbedding-{variant}", "RotaryEmbedding", attrs, operands, opset=23, evaluator=True)


def scatter(variant: str, cache: Array, update: Array, begin: list[int] | None, **attrs: Any) -> Row:
    """A TensorScatter."""
    data = {"c": cache, "u": update} | ({} if begin is None else {"i": np.array(begin, np.int64)})
    return Row(f"TensorScatter-{variant}", "TensorScatter", attrs, data, opset=24, evaluator=True)


def causal(variant: str, width: int, names: str = "xw", outputs: int = 1, **attrs: Any) -> Row:
    """A CausalConvWithState of 3 channels; `names` are its operands."""
    operands = {"x": normal(2, 3, 5), "w": normal(3, 1, width), "b": normal(3), "p": normal(2, 3, width - 1)}
    order = tuple(name if name in names else "" for name in "xwbp")
    while not order[-1]:
        order = order[:-1]
    data = {name: operands[name] for name in order if name}
    return Row(f"CausalConvWithState-{variant}", "CausalConvWithState", attrs, data, {}, order, outputs, opset=27,
               evaluator=True)  # fmt: skip


def linear(rule: str, variant: str, *, decay: int = 0, beta: int = 0, past: bool = False, **attrs: Any) -> Row:
    """A LinearAttention of 4 heads of queries over 2 of keys; `decay` and `beta` are columns."""
    data = {"q": normal(2, 5, 12), "k": normal(2, 5, 6), "v": normal(2, 5, 8)}
    data |= {"s": normal(2, 2, 3, 4)} if past else {}
    data |= {"d": -np.abs(normal(2, 5, decay))} if decay else {}
    data |= {"b": np.abs(normal(2, 5, beta, scale=0.3))} if beta else {}
    order = tuple(name if name in data else "" for name in "qkvsdb")
    while not order[-1]:
        order = order[:-1]
    return Row(f"LinearAttention-{rule}_{variant}", "LinearAttention",
               {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": rule, **attrs}, data, {}, order, 2, opset=27,
               evaluator=True, tolerance=1e-4)  # fmt: skip


BATCHES = {
    "Attention": ("q", "k", "v", "pk", "pv", "n"),
    "RotaryEmbedding": ("x",),
    "TensorScatter": ("c", "u", "i"),
    "CausalConvWithState": ("x", "p"),
    "LinearAttention": ("q", "k", "v", "s", "d", "b"),
}

ROWS = (
    attend("plain"),
    attend("shared_heads", (6, 2), scale=0.3),
    attend("packed", (6, 2), packed=True),
    attend("half", dtype="float16", outputs=3),
    attend("double", dtype="float64"),
    attend("causal", is_causal=1, softcap=2.0),
    attend("past", more=PAST, is_causal=1, outputs=3),
    attend("packed_past", more=PAST, packed=True, outputs=3),
    attend("truths", more={"mask": mask(4, 6)}),
    attend("truths_of_heads", more={"mask": mask(2, 3, 4, 6)}, is_causal=1),
    attend("added", more={"mask": normal(1, 4, 6)}),
    attend("short_mask", more={"mask": normal(4, 5)}),
    attend("short_truths", more={"mask": mask(4, 4)}),
    attend("lengths", more=LENGTHS),
    attend("lengths_causal", more=LENGTHS, is_causal=1),
    attend("lengths_and_mask", more=LENGTHS | {"mask": mask(2, 1, 4, 6)}, is_causal=1),
    attend("windows", left_window_size=1, right_window_size=2),
    attend("lengths_windows", more=LENGTHS, left_window_size=1, right_window_size=0),
    attend("precise", dtype="float16", softmax_precision=11),
    *(
        attend(f"scores_{mode}", more={"mask": mask(4, 6)}, softcap=1.5 if mode else 0.0, qk_matmul_output_mode=mode,
               outputs=4)
        for mode in range(4)
    ),
    rotated("plain", normal(2, 3, 4, 8), 4),
    rotated("packed", normal(2, 4, 24), 4, num_heads=3),
    rotated("interleaved", normal(2, 3, 4, 8), 4, interleaved=1),
    rotated("part", normal(2, 3, 4, 8), 2, rotary_embedding_dim=4),
    rotated("part_interleaved", normal(2, 4, 24), 3, num_heads=3, rotary_embedding_dim=6, interleaved=1),
    rotated("places", normal(2, 3, 4, 8), 4, places=True),
    scatter("plain", normal(2, 3, 6, 4), normal(2, 3, 2, 4), [1, 4]),
    scatter("no_places", normal(2, 6, 4), normal(2, 3, 4), None),
    scatter("circular", normal(3, 2, 6, 4), normal(3, 2, 3, 4), [1, 4, 5], mode="circular"),
    scatter("last", normal(2, 3, 6), normal(2, 3, 2), [0, 4], axis=-1),
    scatter("integers", normal(2, 6, 4, dtype="int64"), normal(2, 3, 4, dtype="int64"), [3, 0], axis=1),
    causal("plain", 3, outputs=2),
    causal("no_state", 3),
    causal("bias", 2, "xwb", 2),
    causal("past", 4, "xwbp", 2, activation="silu"),
    causal("longer_than_data", 7, "xw", 2, activation="swish"),
    linear("linear", "plain"),
    linear("linear", "past", past=True, scale=0.7),
    linear("gated", "by_head", decay=2, past=True),
    linear("gated", "by_row", decay=6),
    linear("delta", "by_head", beta=2),
    linear("delta", "shared", beta=1, past=True),
    linear("gated_delta", "plain", decay=2, beta=2, past=True),
)  # fmt: skip
REFUSED: tuple[tuple[Row, str], ...] = ()
