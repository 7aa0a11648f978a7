"""MXNet 1.9.1's forward operators as `operators.json` describes them, each read when it is first asked for.

`mxnet2.json` holds what MXNet 2.0.0b1 has beyond them: operators, names and parameters. Both files are written by
`tools/mxnet_schema.py` from a live MXNet.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

from graphir.converters.mxnet.schema.values import OperatorParameter, parse_parameter
from graphir.files.rows import Rows, read_rows
from graphir.structure.record import record

# Names that MXNet 0.7 to 0.9 or NNVM's own front end wrote and that 1.9.1 no longer registers as aliases.
_OLD_NAMES = {
    "__add_scalar__": "_plus_scalar",
    "__sub_scalar__": "_minus_scalar",
    "__rsub_scalar__": "_rminus_scalar",
    "__mul_scalar__": "_mul_scalar",
    "__div_scalar__": "_div_scalar",
    "__rdiv_scalar__": "_rdiv_scalar",
    "__pow_scalar__": "_power_scalar",
    "__rpow_scalar__": "_rpower_scalar",
    "CuDNNBatchNorm": "BatchNorm",
}
# Operators that MXNet 2.0 registers anew, with the inputs and the meaning of the earlier ones.
_NEW_NAMES = {
    "_npx_deformable_convolution": "_contrib_DeformableConvolution",
    "_npx_modulated_deformable_convolution": "_contrib_ModulatedDeformableConvolution",
}


# What the registry of 2.0 calls an integer of 64 bits that may be None, and a list of them.
_UNSAID = (", ", "tuple of <>")


@record
class OperatorSchema:
    """One operator: its parameters by name, inputs, auxiliary states and outputs under minimal attributes.

    `free` operators read no attribute at all (or any). `variadic` is the parameter that states the number of inputs, or
    "". `arrays` and `keywords` are what the function that MXNet generates for the operator takes, in this order;
    `*data` is any number of arrays. `outputs` are the names of the visible outputs after `<node>_`; `hidden` more
    follow that only training uses. `least` and `most` bound the numbers that MXNet bounds.
    Of an `uncertain` operator MXNet tells the inputs and outputs only with a graph around it.
    """

    name: str
    aliases: tuple[str, ...]
    parameters: Mapping[str, OperatorParameter]
    inputs: tuple[str, ...]
    aux: tuple[str, ...]
    outputs: tuple[str, ...]
    hidden: int
    variadic: str
    free: bool
    uncertain: bool
    arrays: tuple[str, ...]
    keywords: tuple[str, ...]
    least: Mapping[str, float]
    most: Mapping[str, float]


@functools.cache
def _known() -> Rows:
    return read_rows(Path(__file__).with_name("operators.json"))


@functools.cache
def _mxnet2() -> Rows:
    return read_rows(Path(__file__).with_name("mxnet2.json"))


@functools.cache
def mxnet2_operators() -> frozenset[str]:
    """Return the operators that MXNet 2.0 has and 1.9.1 has not, by the name that 2.0 writes."""
    return frozenset(_mxnet2()["operators"].keys() - _NEW_NAMES.keys())


@functools.cache
def mxnet2_parameters(operator: str) -> Mapping[str, OperatorParameter]:
    """Return the parameters of an operator of 1.9.1 that MXNet 2.0 added or lets hold more; none of them must be
    stated."""
    texts = _mxnet2()["parameters"].get(operator, {})
    return {
        name: parse_parameter(name, text)._replace(required=False)
        for name, text in texts.items()
        if not text.startswith(_UNSAID)
    }


@functools.cache
def changed_operators() -> frozenset[str]:
    """Return the operators of 1.9.1 whose name stands for another one in files of MXNet 2.0."""
    return frozenset(_mxnet2()["otherwise"])


@functools.cache
def registered_names() -> Mapping[str, str]:
    """Return every name that MXNet 1.9.1 registers an operator under, with the operator's own."""
    aliases: dict[str, str] = _known()["aliases"]
    return {operator: operator for operator in _known()["operators"]} | aliases


@functools.cache
def canonical_names() -> Mapping[str, str]:
    """Return every known name of an operator, its own included, with its own; those of older and of later files too."""
    later = {name: name for name in mxnet2_operators()} | _mxnet2()["aliases"]
    return {**_OLD_NAMES, **later, **_NEW_NAMES, **_mxnet2()["names"], **registered_names()}


@functools.cache
def operator_schema(operator: str) -> OperatorSchema:
    """Return the operator of that canonical name. Raises KeyError if there is none."""
    table = _known() if operator in _known()["operators"] else _mxnet2()
    entry = table["operators"][operator]
    texts = entry.get("params", {})
    if operator in mxnet2_operators():
        kinds = {"size": "Shape or None"}  # as 1.9.1 has it
        texts = {
            name: f"{kinds.get(name, 'long or None')}{text}" if text.startswith(", ") else text
            for name, text in texts.items()
        }
    return OperatorSchema(
        operator,
        tuple([alias for alias, owner in table["aliases"].items() if owner == operator]),
        {name: parse_parameter(name, text) for name, text in texts.items()},
        tuple(entry.get("inputs", ())),
        tuple(entry.get("aux", ())),
        tuple(entry.get("outputs", ("output",))),
        entry.get("hidden", 0),
        entry.get("variadic", ""),
        entry.get("free", False),
        entry.get("uncertain", False),
        tuple(entry.get("arrays", entry.get("inputs", ()))),
        tuple(entry.get("keywords", entry.get("params", ()))),
        entry.get("least", {}),
        entry.get("most", {}),
    )
