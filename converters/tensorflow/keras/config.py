"""What a Keras file says of its layers, held against what Keras writes: the one place where configurations are looked
at before anything reads them.

`check_tree` looks at the whole document: that everything that calls itself an object is one, and how deep it goes.
`check_layer` looks at one layer: the kinds of its settings, by their names, which mean the same in all layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.tensorflow.dtypes import NAMES
from graphir.converters.tensorflow.keras.signatures import Reads
from graphir.errors import FormatError
from graphir.safety.foreign_text import shortened
from graphir.types import DType

POLICIES = {
    "float16": DType.FLOAT16, "float32": DType.FLOAT32, "float64": DType.FLOAT64, "bfloat16": DType.BFLOAT16,
    "mixed_float16": DType.FLOAT16, "mixed_bfloat16": DType.BFLOAT16,
}  # fmt: skip
DEEPEST = 120
LARGEST = (1 << 31) - 1
_NAMES = frozenset(NAMES.values())


def _integer(value: object, least: int) -> bool:
    return type(value) is int and least <= value <= LARGEST


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _integers(value: object, least: int) -> bool:
    """Return whether this is an integer or a list of them."""
    return _integer(value, least) or (isinstance(value, list) and all(_integer(entry, least) for entry in value))


def _borders(value: object) -> bool:
    """Return whether this is a padding: same, valid, causal, or the numbers before and behind each axis."""
    if isinstance(value, str) or _integers(value, 0):
        return True
    rows = value if isinstance(value, list) else []
    return bool(rows) and all(_integer(row, 0) or (_integers(row, 0) and len(row) == 2) for row in rows)


def _shape(value: object) -> bool:
    return isinstance(value, list) and all(size is None or _integer(size, 0) for size in value)


def _object(value: object) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("class_name"), str)


Kind = Callable[[Any], bool]
_WHOLE: Kind = lambda value: _integer(value, 1)  # noqa: E731
_WHOLES: Kind = lambda value: _integers(value, 1)  # noqa: E731
_FROM_0: Kind = lambda value: _integers(value, 0)  # noqa: E731
_ANY: Kind = lambda value: _integers(value, -LARGEST)  # noqa: E731
_TEXT: Kind = lambda value: isinstance(value, str)  # noqa: E731
_FLAG: Kind = lambda value: isinstance(value, bool) or value in (0, 1)  # noqa: E731
_ACTIVATION: Kind = lambda value: isinstance(value, str) or _object(value)  # noqa: E731
_NUMBERS: Kind = lambda value: _number(value) or isinstance(value, bool) or (  # noqa: E731
    isinstance(value, list) and all(_number(entry) for entry in value)
)
# By key: what the value has to be, in words, and whether it is. Where a key is left out it has its default.
KINDS: Mapping[str, tuple[str, Kind]] = {
    **dict.fromkeys(
        ("filters", "units", "n", "num_heads", "key_dim", "depth_multiplier", "groups", "height", "width", "output_dim",
         "input_dim", "nb_filter", "nb_row", "nb_col"), ("a whole number of at least 1", _WHOLE)),
    **dict.fromkeys(
        ("kernel_size", "pool_size", "strides", "dilation_rate", "size", "subsample", "atrous_rate", "pool_length",
         "filter_length", "stride", "subsample_length", "kernel_dim1", "kernel_dim2", "kernel_dim3"),
        ("whole numbers of at least 1", _WHOLES)),
    "output_padding": ("whole numbers of at least 0", _FROM_0),
    "dims": ("a list of axes", lambda value: isinstance(value, list) and _WHOLES(value)),
    "target_shape": ("a list of sizes", lambda value: isinstance(value, list) and _integers(value, -1)),
    **dict.fromkeys(("axis", "concat_axis", "attention_axes"), ("one axis or more", lambda value: value != [] and _ANY(
        value))),
    **dict.fromkeys(("axes", "dot_axes"), ("one axis or two", lambda value: _ANY(value) and (
        isinstance(value, int) or len(value) == 2))),
    **dict.fromkeys(("padding", "cropping", "border_mode"), ("a text, or numbers of at least 0", _borders)),
    **dict.fromkeys(
        ("use_bias", "bias", "return_sequences", "return_state", "go_backwards", "stateful", "unroll", "time_major",
         "reset_after", "mask_zero", "center", "keepdims", "use_gate", "use_scale", "causal", "normalize", "invert",
         "rms_scaling", "zero_output_for_mask", "trainable"), ("true or false", _FLAG)),
    **dict.fromkeys(
        ("epsilon", "rate", "p", "alpha", "theta", "negative_slope", "threshold", "max_value", "mask_value"),
        ("a finite number", _number)),
    **dict.fromkeys(("offset", "scale"), ("finite numbers", _NUMBERS)),
    "bin_boundaries": ("a list of finite numbers", lambda value: isinstance(value, list) and all(map(_number, value))),
    **dict.fromkeys(
        ("name", "data_format", "dim_ordering", "interpolation", "mode", "merge_mode", "score_mode", "output_mode",
         "equation", "function", "bias_axes"), ("a text", _TEXT)),
    **dict.fromkeys(("activation", "recurrent_activation", "inner_activation"), ("a text or an object", _ACTIVATION)),
    **dict.fromkeys(("layer", "backward_layer", "cell"), ("an object", _object)),
    **dict.fromkeys(("batch_shape", "batch_input_shape", "build_input_shape"), ("a list of sizes", _shape)),
}  # fmt: skip
# The same for single classes.
OWN_KINDS: Mapping[tuple[str, str], tuple[str, Kind]] = {
    ("axis", "Normalization"): ("axes, or none of them", _ANY),  # none: one mean and variance for all elements
}
# Keys of which some classes have another understanding.
ELSEWHERE: Mapping[str, frozenset[str]] = {
    "function": frozenset({"Lambda"}),
    "mode": frozenset({"BatchNormalization", "Highway"}),
}


def check_tree(config: Any, path: Path, what: str) -> int:
    """Return how many layers a document holds. Raises FormatError unless it is the object of a model, as far as one can
    be told from any other document."""
    if not isinstance(config, Mapping) or not isinstance(config.get("class_name"), str):
        raise FormatError(f"{what} is not as Keras writes it: no object with a class_name", path=path)
    count = 0
    for location, part in _parts(config, path, what):
        if not isinstance(part, Mapping):
            continue
        name = part.get("class_name", "")
        if not isinstance(name, str):
            raise FormatError(f"not as Keras writes it: class_name is {shortened(name)}", path=path, json_path=location)
        if "layers" in part and "class_name" not in part:
            _check_layers(part["layers"], path, location)
            count += len(part["layers"])
    listed = config.get("config")
    if isinstance(listed, list):  # a Sequential model of version 1
        _check_layers(listed, path, what)
        count += len(listed)
    return count


def _check_layers(layers: Any, path: Path, location: str) -> None:
    """Raise FormatError for entries of a model that are not objects with a configuration and a name."""
    if not isinstance(layers, list):
        raise FormatError(f"not as Keras writes it: layers is {shortened(layers)}", path=path, json_path=location)
    names: set[str] = set()
    for slot, entry in enumerate(layers):
        config = entry.get("config") if isinstance(entry, Mapping) else None
        where = f"{location}.layers[{slot}]"
        if not isinstance(entry, Mapping) or not isinstance(entry.get("class_name"), str):
            raise FormatError(f"not as Keras writes it: {shortened(entry)}", path=path, json_path=where)
        name = entry.get("name") or (config.get("name") if isinstance(config, Mapping) else None)
        if not isinstance(config, Mapping | list) or not isinstance(name, str | None):
            raise FormatError("not as Keras writes it: a layer without config or name", path=path, json_path=where)
        calls, module = entry.get("inbound_nodes"), entry.get("module")
        if not isinstance(calls, list | None) or not isinstance(module, str | None):
            raise FormatError("not as Keras writes it: its module or inbound_nodes", path=path, json_path=where)
        if name is not None and name in names:
            raise FormatError(f"two layers of a model are called {name!r}", path=path, json_path=where)
        names.add(name or "")


def _parts(tree: Any, path: Path, what: str) -> Iterator[tuple[str, Any]]:
    """Yield every part of a document with its path inside it. Raises FormatError where it goes too deep."""
    left: list[tuple[str, Any, int]] = [(what, tree, 0)]
    while left:
        location, part, depth = left.pop()
        if depth > DEEPEST:
            raise FormatError(f"{what} nests more than {DEEPEST} levels deep", path=path)
        yield location, part
        if isinstance(part, Mapping):
            left += [(f"{location}.{key}"[:200], value, depth + 1) for key, value in part.items()]
        elif isinstance(part, list):
            left += [(f"{location}[{slot}]"[:200], value, depth + 1) for slot, value in enumerate(part)]


def check_layer(entry: Mapping[str, Any], name: str, path: Path | None = None) -> None:
    """Raise FormatError, naming the layer and the setting, for one of another kind than Keras writes."""
    class_name, config = entry["class_name"], entry.get("config")
    if not isinstance(config, Mapping):
        shown = shortened(config)
        raise FormatError(f"layer {name} ({class_name}): its config is {shown}, expected an object", path=path)
    for key, (wanted, fits) in KINDS.items():
        value = config.get(key)
        wanted, fits = OWN_KINDS.get((key, class_name), (wanted, fits))
        if key == "scale" and class_name.endswith("Normalization"):  # elsewhere it is a factor
            wanted, fits = KINDS["center"]
        if value is None or class_name in ELSEWHERE.get(key, ()) or fits(value):
            continue
        raise FormatError(f"layer {name} ({class_name}): {key} is {shortened(value)}, expected {wanted}", path=path)
    dtype = config.get("dtype")
    inner = dtype.get("config") if isinstance(dtype, Mapping) else {}
    if not isinstance(dtype, str | Mapping | None) or not isinstance(inner, Mapping):
        raise FormatError(f"layer {name} ({class_name}): dtype is {shortened(dtype)}, expected its name", path=path)


class Settings(Reads):
    """A layer's configuration. One that is left out and has no default is a FormatError that names it."""

    def __init__(self, settings: Mapping[str, Any], layer: str) -> None:
        super().__init__(settings)
        self._layer = layer

    def __getitem__(self, key: str) -> Any:
        self._read.add(key)
        if self._entries.get(key) is None:
            raise FormatError(f"layer {self._layer} states no {key!r}")
        return self._entries[key]

    def get(self, key: str, default: Any = None) -> Any:
        """Return the setting, `default` where the file has none. A flag that is null is false, as Keras takes it;
        another setting with a default that is null is a FormatError."""
        self._read.add(key)
        value = self._entries.get(key, default)
        if value is not None or default is None:
            return value
        if isinstance(default, bool):
            return False
        raise FormatError(f"layer {self._layer} states null for {key!r}")

    def __contains__(self, key: object) -> bool:
        return key in self._entries


def is_dtype(name: object) -> bool:
    """Return whether this names a dtype."""
    return isinstance(name, str) and name in _NAMES


def compute_dtype(config: Mapping[str, Any]) -> DType:
    """Return the dtype that a layer computes in. Refuses policies that state none."""
    policy = policy_name(config)
    dtype = POLICIES.get(policy or "float32")
    if dtype is None and policy not in ("string", "int32", "int64"):
        raise Refusal(f"the dtype policy {policy}")
    return dtype or DType.FLOAT32


def policy_name(config: Mapping[str, Any]) -> str | None:
    policy = config.get("dtype")
    if isinstance(policy, Mapping):
        inner = policy.get("config")
        policy = inner.get("name") if isinstance(inner, Mapping) else None
    return None if policy is None else str(policy)
