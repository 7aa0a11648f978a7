"""The arguments of a call of a Keras layer by their names, and which of them, and of its settings, were read.

What is stated and not read would be dropped silently: it is refused (see `Reads.unread`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from graphir.converters.kernel.refusals import Refusal

_HEADS = (
    "query", "value", "key", "query_mask", "value_mask", "key_mask", "attention_mask", "return_attention_scores",
    "training", "use_causal_mask",
)  # fmt: skip
_SEQUENCE = ("sequences", "initial_state", "mask", "training")
_SCORES = ("inputs", "mask", "training", "return_attention_scores", "use_causal_mask")
# Version 3's arguments in their order; files of version 2 name all but the first.
_SIGNATURES: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("MultiHeadAttention", "GroupQueryAttention"), _HEADS),
    **dict.fromkeys(("Attention", "AdditiveAttention"), _SCORES),
    **dict.fromkeys(("LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional"), _SEQUENCE),
    **dict.fromkeys(
        ("BatchNormalization", "TimeDistributed", "Sequential", "Functional", "Model"), ("inputs", "training", "mask")
    ),
    **dict.fromkeys(("GlobalAveragePooling1D", "Softmax"), ("inputs", "mask")),
}
# What the first argument is called where the call names it.
_FIRST = ("inputs", "sequences", "query", "data", "x", "images")
# Settings that change nothing at inference, or that weights and shapes show too.
_HARMLESS = frozenset({
    "batch_input_shape", "batch_shape", "depth_multiplier", "dropout", "dtype", "filters", "implementation",
    "input_dim", "input_length", "input_shape", "input_spec", "kernel_size", "key_shape", "momentum", "name",
    "noise_shape", "num_bins", "output_dim", "output_shape", "power_iterations",
    "projection_dim", "query_shape", "rate",
    "recurrent_dropout", "rng_type", "seed", "shared_axes", "stddev", "synchronized", "trainable", "units",
    "unit_forget_bias", "unroll", "use_cudnn", "value_dim", "value_shape",
})  # fmt: skip
_HARMLESS_ENDS = ("_initializer", "_regularizer", "_constraint")
# Settings of single classes that weights show, or that say nothing at inference.
_HARMLESS_IN: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("Conv1D", "Conv2D", "Conv3D"), frozenset({"groups"})),
    **dict.fromkeys(("SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D"), frozenset({"data_format"})),
    "BatchNormalization": frozenset({"renorm", "renorm_clipping", "renorm_momentum", "virtual_batch_size"}),
    "LSTM": frozenset({"reset_after"}),  # of a GRU
    "LayerScale": frozenset({"init_values"}),
    "Discretization": frozenset({"epsilon"}),
    "ActivityRegularization": frozenset({"l1", "l2"}),
    "Resizing": frozenset({"fill_mode", "fill_value"}),  # of a border that only a refused setting makes
}


class Reads(Mapping[str, Any]):
    """A mapping that knows which of its entries were read."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._entries = values
        self._read: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self._read.add(key)
        return self._entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def unread(self) -> list[str]:
        """Return the entries that say something, and that nobody read."""
        return [key for key, value in self._entries.items() if key not in self._read and not _is_empty(value)]


def refuse_unread(arguments: Reads, settings: Reads | None = None, class_name: str = "") -> None:
    """Raise Refusal for what a call states and nobody read, or with the class of a layer its settings that may matter:
    it would be dropped silently."""
    names = [key for key in arguments.unread() if key not in ("name", "trainable", "training")]
    if names:
        raise Refusal(f"its call states {', '.join(names)}, which graphir does not read here")
    if settings is None or not class_name:
        return
    harmless = _HARMLESS | _HARMLESS_IN.get(class_name, frozenset())
    left = [key for key in settings.unread() if key not in harmless and not key.endswith(_HARMLESS_ENDS)]
    names = [key for key in left if (key, settings[key]) != ("groups", 1)]
    if names:
        raise Refusal(f"the setting {', '.join(names)}, which graphir does not read here")


def _is_empty(value: Any) -> bool:
    """Return whether a setting or argument says nothing: None, false, or only such."""
    if isinstance(value, (list, tuple)):
        return all(map(_is_empty, value))
    return value is None or value is False


def bind_arguments(
    class_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return the first argument, and the others by their names. Raises Refusal for more of them than are known."""
    names = _SIGNATURES.get(class_name, _FIRST[:1])
    others = {**dict(zip(names[1:], args[1:], strict=False)), **kwargs}
    if len(args) > len(names):
        raise Refusal(f"a call with {len(args)} arguments by position, expected {', '.join(names)}")
    first = list(args[:1])
    if not first:
        first = [others.pop(name) for name in (names[0], *_FIRST) if name in others][:1]
    return first, others
