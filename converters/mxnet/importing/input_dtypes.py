"""Dtypes of inputs that nobody gave: what the symbol and the parameters say of them.

MXNet infers dtypes both ways through operators whose operands and results have one dtype. Import functions want the
dtype of an operand when they are called, so the inputs' are found beforehand, from the symbol alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.schema.operators import is_readable, node_signature
from graphir.converters.mxnet.schema.values import OWN_RESULT, TYPE_FLAGS
from graphir.tensor import Tensor
from graphir.types import DType

# Inputs whose dtype the other operands and the result do not share. None stands for all inputs.
OWN_INPUTS: Mapping[str, frozenset[str] | None] = {
    "Embedding": frozenset({"data"}),
    "take": frozenset({"indices"}),
    "batch_take": frozenset({"indices"}),
    "pick": frozenset({"index"}),
    "gather_nd": frozenset({"indices"}),
    "scatter_nd": frozenset({"indices"}),
    "where": frozenset({"condition"}),
    "SequenceMask": frozenset({"sequence_length"}),
    "SequenceLast": frozenset({"sequence_length"}),
    "SequenceReverse": frozenset({"sequence_length"}),
    "RNN": frozenset({"sequence_length"}),
    "BatchNorm": frozenset({"gamma", "beta", "moving_mean", "moving_var"}),
    "CTCLoss": frozenset({"label", "data_lengths", "label_lengths"}),
    "softmax": frozenset({"length"}),
    **dict.fromkeys(("_cond", "_foreach", "_while_loop"), None),
    **dict.fromkeys(OWN_RESULT, None),
}

_FLAGS = {str(flag): name for flag, name in TYPE_FLAGS.items()}


def stated_dtype(record: NNVMNode) -> DType | None:
    """Return the dtype that a variable's `__dtype__` or a node's `dtype` states, as a name or as MXNet's number."""
    text = record.annotations.get("__dtype__", "") if record.op == VARIABLE else record.attrs.get("dtype", "")
    if text in _FLAGS:
        return DType(_FLAGS[text])
    return DType(text) if text in TYPE_FLAGS.values() else None


def likely_dtypes(
    source: NNVMGraph, params: Mapping[str, Tensor] | None, given: Mapping[str, DType]
) -> dict[str, DType]:
    """Return the dtypes of variables that follow from those that are given, stated or stored, by name.

    Variables and results that share their dtype make a group; a group that knows exactly one dtype gives it to all of
    its variables. One walk over the nodes.
    """
    groups = list(range(len(source.nodes)))
    known: list[tuple[int, DType]] = []
    for index, record in enumerate(source.nodes):
        stated = stated_dtype(record)
        if record.op == VARIABLE:
            stored = (params or {}).get(record.name)
            stated = given.get(record.name) or (stored.dtype if stored is not None else stated)
        if stated is not None:
            known.append((index, stated))
        if record.op == VARIABLE or not record.inputs:
            continue
        own = OWN_INPUTS.get(record.op, frozenset())
        if own is None or (own and not is_readable(record)):
            continue
        names = node_signature(record).inputs if own else ()
        for slot, (producer, _) in enumerate(record.inputs):
            if slot >= len(names) or names[slot] not in own:
                groups[_root(groups, producer)] = _root(groups, index)
    stored_value: dict[int, set[DType]] = {}
    for index, dtype in known:
        stored_value.setdefault(_root(groups, index), set()).add(dtype)
    result = {}
    for index, record in enumerate(source.nodes):
        if record.op == VARIABLE:
            dtypes = stored_value.get(_root(groups, index), set())
            if len(dtypes) == 1:
                result[record.name] = next(iter(dtypes))
    return result


def _root(groups: list[int], index: int) -> int:
    while groups[index] != index:
        groups[index] = groups[groups[index]]
        index = groups[index]
    return index
