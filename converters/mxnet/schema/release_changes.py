"""What older releases of MXNet compute otherwise than 1.9.1, or not at all, though they have the operator.

Found by running the cases of tests/equivalence in the libraries themselves (tests/mxnet_releases.py), but for argmax,
which is rule R5 of `upgrade`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.schema.operators import typed_attributes

Concerns = Callable[[Mapping[str, Any]], bool]


class Change(NamedTuple):
    """What an operator computed otherwise before a release, and which of its nodes that concerns."""

    until: int
    reason: str
    concerns: Concerns


class Note(NamedTuple):
    """What differs for some data only, or in some builds, which nobody can see in the symbol: recorded, not refused."""

    since: int
    until: int
    text: str
    concerns: Concerns


class Limit(NamedTuple):
    """The numbers of axes that an operator takes in releases from `since` on and before `until`."""

    since: int
    until: int
    reason: str
    takes: Callable[[int], bool]
    concerns: Concerns


def _always(typed: Mapping[str, Any]) -> bool:
    return True


def _is_uneven(typed: Mapping[str, Any]) -> bool:
    windows = [typed[name] or (0,) for name in ("kernel", "stride", "dilate", "pad")]
    dilated = any(step != 1 for step in typed["dilate"] or ())
    return dilated and any(len(set(window)) > 1 for window in windows)


def _counts_backwards(typed: Mapping[str, Any]) -> bool:
    axes = typed["axis"]
    return any(axis < 0 for axis in (axes if isinstance(axes, tuple) else (axes,)) if axis is not None)


CHANGED: Mapping[str, tuple[Change, ...]] = {
    **dict.fromkeys(
        ("argmax", "argmin"),
        (Change(905, "axis=-1 meant all axes; count it from the front", lambda typed: typed["axis"] == -1),),
    ),
    **dict.fromkeys(
        ("sum", "mean", "max", "min", "prod", "nansum", "nanprod"),
        (Change(1100, "axes count from the front there", _counts_backwards),),
    ),
    "Concat": (Change(10100, "dim counts from the front there", lambda typed: typed["dim"] < 0),),
    "Convolution": (
        Change(1100, "dilations of windows that are not square go wrong there", _is_uneven),
        Change(
            10700,
            "dilations over three axes are not there",
            lambda typed: len(typed["kernel"] or ()) == 3 and any(step != 1 for step in typed["dilate"] or ()),
        ),
    ),
    "Deconvolution": (Change(10100, "only two spatial axes are there", lambda typed: len(typed["kernel"] or ()) == 1),),
    "Reshape": (
        Change(905, "codes below -1 are not there", lambda typed: any(size < -1 for size in typed["shape"] or ())),
    ),
    "_contrib_MultiBoxDetection": (
        Change(
            10301,
            "with nms_topk it suppresses across classes otherwise there",
            lambda typed: typed["force_suppress"] and typed["nms_topk"] > 0,
        ),
    ),
    "LRN": (Change(1100, "the first and last channels are summed otherwise there", lambda typed: typed["nsize"] > 1),),
    "pick": (Change(1100, "keepdims goes wrong there", lambda typed: bool(typed["keepdims"])),),
    "transpose": (Change(1100, "only up to 5 axes are there", lambda typed: len(typed["axes"] or ()) > 5),),
    "take": (
        Change(10301, "only axis=0 is there", lambda typed: typed["axis"] != 0),
        Change(10301, "only mode=clip is there", lambda typed: typed["mode"] != "clip"),
    ),
}

NOTED: Mapping[str, tuple[Note, ...]] = {
    "Activation": (
        Note(0, 1100, "before MXNet 0.11 softrelu is infinite above 88", lambda typed: typed["act_type"] == "softrelu"),
    ),
    "Deconvolution": (
        Note(
            0, 10900, "before MXNet 1.9 only a GPU has deconvolution over three axes",
            lambda typed: len(typed["kernel"] or ()) == 3,
        ),
    ),
    "LeakyReLU": (
        Note(
            10700, 10800, "MXNet 1.7 with oneDNN takes a tanh for gelu, which is 5e-4 off",
            lambda typed: typed["act_type"] == "gelu",
        ),
    ),
    "_contrib_box_nms": (
        Note(0, 10501, "before MXNet 1.5 boxes of the class -1 are not left out", lambda typed: typed["id_index"] >= 0),
    ),
    "gather_nd": (Note(0, 10700, "before MXNet 1.7 negative indices do not count from the end", _always),),
}  # fmt: skip

LIMITED: Mapping[str, tuple[Limit, ...]] = {
    "BatchNorm": (Limit(905, 1000, "only data of 2 or 4 axes is there", lambda rank: rank in (2, 4), _always),),
    "LeakyReLU": (
        Limit(
            10300, 10400, "prelu of data with 5 axes goes wrong there", lambda rank: rank != 5,
            lambda typed: typed["act_type"] == "prelu",
        ),
    ),
    "SequenceReverse": (Limit(905, 1200, "only data of 3 or more axes is there", lambda rank: rank > 2, _always),),
    "batch_dot": (Limit(905, 10600, "only operands of 3 axes are there", lambda rank: rank == 3, _always),),
}  # fmt: skip

_KEEP_RANK = frozenset(
    (
        *("Activation", "BatchNorm", "Cast", "Concat", "Dropout", "LRN", "LeakyReLU", "Pad", "SwapAxis", "UpSampling"),
        *("_div_scalar", "_minus_scalar", "_mul_scalar", "_plus_scalar", "relu", "slice", "slice_axis", "softmax"),
        *("elemwise_add", "elemwise_div", "elemwise_mul", "elemwise_sub", "transpose"),
    )
)


def rank_of(symbol: NNVMGraph, index: int, slot: int, ranks: Mapping[str, int]) -> int | None:
    """The number of axes of a value, where `ranks` or the operator that gives it says so, else None.

    `ranks` are those of variables and of the first results of nodes, by name.
    """
    node = symbol.nodes[index]
    while slot == 0 and node.name not in ranks and node.op in _KEEP_RANK:
        index, slot = node.inputs[0]
        node = symbol.nodes[index]
    if slot == 0 and node.name in ranks:
        return ranks[node.name]
    return None if node.op == VARIABLE else _stated_rank(node)


def _stated_rank(node: NNVMNode) -> int | None:
    """The number of axes of what a node gives, where its attributes say it."""
    if node.op == "Flatten":
        return 2
    if node.op in ("Convolution", "Deconvolution", "Pooling"):
        kernel = typed_attributes(node)["kernel"]
        return len(kernel) + 2 if isinstance(kernel, tuple) and kernel else None
    if node.op == "Reshape":
        shape = typed_attributes(node)["shape"]
        return len(shape) if isinstance(shape, tuple) and shape and min(shape) >= -1 else None
    return 2 if node.op == "FullyConnected" and typed_attributes(node)["flatten"] else None


__all__ = ["CHANGED", "LIMITED", "NOTED", "rank_of"]
