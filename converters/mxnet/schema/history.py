"""Since when MXNet has its operators and their parameters, from `history.json`, and before that from real files.

`history.json` is what the registries of the published libraries 0.9.5 to 1.9.1 say (`tools/mxnet_history.py`). Of
releases before 0.9.5 no library is published: of them only what files of their time state is taken for granted.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from graphir.converters.mxnet.schema.registry import OperatorSchema, operator_schema
from graphir.converters.mxnet.schema.values import Parameter, parse_parameter

OLDEST_LIBRARY = 905

# Operators and parameters in files of 0.7 and 0.8, which state every parameter, and in the C++ interface of their time,
# which was generated from the registry (dmlc/MXNet.cpp, op.h).
_EARLY: Mapping[str, tuple[str, ...]] = {
    "Activation": ("act_type",),
    "BatchNorm": ("eps", "fix_gamma", "momentum", "use_global_stats"),
    "Concat": ("dim", "num_args"),
    "Convolution": (
        *("cudnn_off", "cudnn_tune", "dilate", "kernel", "no_bias", "num_filter", "num_group", "pad", "stride"),
        "workspace",
    ),
    "Deconvolution": ("kernel", "no_bias", "num_filter", "num_group", "pad", "stride", "workspace"),
    "Dropout": ("p",),
    "Flatten": (),
    "FullyConnected": ("no_bias", "num_hidden"),
    "LeakyReLU": ("act_type", "lower_bound", "slope", "upper_bound"),
    "LinearRegressionOutput": ("grad_scale",),
    "LogisticRegressionOutput": ("grad_scale",),
    "LRN": ("alpha", "beta", "knorm", "nsize"),
    "MAERegressionOutput": ("grad_scale",),
    "Pooling": ("global_pool", "kernel", "pad", "pool_type", "pooling_convention", "stride"),
    "Reshape": ("shape",),
    "SliceChannel": ("axis", "num_outputs", "squeeze_axis"),
    "SoftmaxActivation": ("mode",),
    "SoftmaxOutput": (
        *("grad_scale", "ignore_label", "multi_output", "normalization", "out_grad", "preserve_shape", "use_ignore"),
    ),
    "SwapAxis": ("dim1", "dim2"),
    **dict.fromkeys(("abs", "ceil", "cos", "exp", "floor", "log", "round", "rsqrt"), ()),
    **dict.fromkeys(("sign", "sin", "sqrt", "square"), ()),
}
_EARLY_NAMES = {
    "elemwise_add": "_Plus",
    "elemwise_sub": "_Minus",
    "elemwise_mul": "_Mul",
    "elemwise_div": "_Div",
    "_power": "_Power",
    "_maximum": "_Maximum",
    "_minimum": "_Minimum",
    "_plus_scalar": "_PlusScalar",
    "_minus_scalar": "_MinusScalar",
    "_rminus_scalar": "_RMinusScalar",
    "_mul_scalar": "_MulScalar",
    "_div_scalar": "_DivScalar",
    "_rdiv_scalar": "_RDivScalar",
    "_power_scalar": "_PowerScalar",
    "_rpower_scalar": "_RPowerScalar",
    "_maximum_scalar": "_MaximumScalar",
    "_minimum_scalar": "_MinimumScalar",
}


class Absent(NamedTuple):
    """What an older release lacks; `since` is the first of the known releases that has it."""

    since: int


class OldOperator(NamedTuple):
    """An operator in an older release: its name there, and its parameters there, or since when they are there."""

    name: str
    parameters: Mapping[str, Parameter | Absent]


@functools.cache
def _document() -> dict[str, Any]:
    text = Path(__file__).with_name("history.json").read_text(encoding="ascii")
    document: dict[str, Any] = json.loads(text)
    return document


def releases() -> list[int]:
    """The releases whose registries are known, oldest first."""
    return list(_document()["releases"])


@functools.cache
def operator_at(name: str, version: int) -> OldOperator | Absent:
    """The operator with today's canonical name in a release. Raises KeyError for one that is in no release."""
    entry = _document()["operators"].get(name, {})
    schema = operator_schema(name)
    since = entry.get("since", OLDEST_LIBRARY)
    if version < since and since > OLDEST_LIBRARY:
        return Absent(since)
    if version < OLDEST_LIBRARY:
        return _early_operator(schema, entry)
    called = min(((until, old) for old, until in entry.get("called", {}).items() if version <= until), default=None)
    return OldOperator(name if called is None else called[1], _parameters_at(schema, entry, version))


def _parameters_at(
    schema: OperatorSchema, entry: Mapping[str, Any], version: int
) -> dict[str, Parameter | Absent]:
    found: dict[str, Parameter | Absent] = {}
    for name, parameter in schema.parameters.items():
        since = entry.get("parameters", {}).get(name, 0)
        older = [text for until, text in entry.get("were", {}).get(name, ()) if version < until]
        found[name] = Absent(since) if version < since else parse_parameter(name, older[-1]) if older else parameter
    return found


def _early_operator(schema: OperatorSchema, entry: Mapping[str, Any]) -> OldOperator | Absent:
    """The operator before 0.9.5, with the parameters that it has in files; their types are those of 0.9.5."""
    if schema.name in _EARLY_NAMES:
        stated: tuple[str, ...] = ("scalar",) if schema.name.endswith("_scalar") else ()
    elif schema.name in _EARLY:
        stated = _EARLY[schema.name]
    else:
        return Absent(OLDEST_LIBRARY)
    at_first = _parameters_at(schema, entry, OLDEST_LIBRARY)
    parameters = {
        name: found if name in stated or isinstance(found, Absent) else Absent(OLDEST_LIBRARY)
        for name, found in at_first.items()
    }
    return OldOperator(_EARLY_NAMES.get(schema.name, schema.name), parameters)


__all__ = ["OLDEST_LIBRARY", "Absent", "OldOperator", "operator_at", "releases"]
