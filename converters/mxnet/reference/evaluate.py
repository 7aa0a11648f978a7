"""Evaluate an MXNet symbol in numpy: inference mode, one node after the other, nothing fused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from graphir.arrays import Array
from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.reference import operators
from graphir.converters.mxnet.reference.contract import (
    NP_SHAPE,
    RECORDS,
    SYMBOLS,
    Reference,
    bfloat16,
    is_bfloat16,
)
from graphir.converters.mxnet.reference.loss import LABELLED
from graphir.converters.mxnet.schema.operators import (
    node_signature,
    output_names,
    plugged,
    typed_attributes,
)
from graphir.converters.mxnet.schema.values import OWN_RESULT
from graphir.errors import Gap, UnsupportedOpError, VerificationError
from graphir.structure.reaching import reachable

Entry = tuple[int, int]

CASTS = ("Cast", "amp_cast", "amp_multicast")
CONSTANTS = ("_full", "_npi_ones", "_npi_zeros", "_ones", "_zeros", "_zeros_without_dtype")


class RefusedInputs(VerificationError):
    """An operator refused its inputs: `node`, `operator`, `reason`."""

    def __init__(self, node: str, operator: str, reason: str) -> None:
        super().__init__(f"node {node!r} ({operator}): {reason}")
        self.node = node
        self.operator = operator
        self.reason = reason


def evaluate(
    symbol: NNVMGraph,
    arrays: Mapping[str, Array],
    *,
    outputs: Sequence[str] | None = None,
    internals: bool = False,
) -> dict[str, Array]:
    """Return the symbol's outputs, by MXNet's names (`fc1_output`, `split0_output1`; a repeated name gets `#2`, ...).

    `arrays` holds inputs, parameters and auxiliary states by plain name; labels of loss heads may be absent. `outputs`
    names the values wanted, internal ones included, instead of the symbol's heads. `internals` adds every operator's
    outputs, in topological order; without it a value is freed after its last use.

    A size that a constant leaves open (`_zeros` with 0 in its shape: an initial state) is the smallest size among the
    arrays' with which every operator accepts its inputs. MXNet infers the same from the first operator that wants
    equal shapes; where none does, it refuses the symbol and this takes the first that broadcasts.

    Raises UnsupportedOpError with all unknown operators, VerificationError with all missing arrays, for an unknown
    output name, and for a node that refuses its inputs.
    """
    names = entry_names(symbol)
    wanted = list(symbol.heads) if outputs is None else [entry_of(names, name) for name in outputs]
    needed = ancestors(symbol, wanted)
    refuse_unknown_operators(symbol, needed)
    refuse_missing_arrays(symbol, needed, arrays)
    if internals:
        extra = find_computable_nodes(symbol, arrays) - needed
        wanted += [entry for entry in names if symbol.nodes[entry[0]].op != VARIABLE and entry[0] in needed | extra]
        needed |= extra
        wanted = sorted(set(wanted)) if outputs is None else list(dict.fromkeys(wanted))
    refusal: VerificationError | None = None
    for size in open_sizes(symbol, needed, arrays):
        try:
            values = run(symbol, needed, wanted, arrays, size)
        except RefusedInputs as error:
            refusal = refusal or error
            continue
        return {names[entry]: values[entry] for entry in wanted}
    raise refusal or VerificationError("the symbol computes nothing")


def evaluate_in_turn(
    symbol: NNVMGraph, arrays: Mapping[str, Array], outputs: Iterable[str]
) -> Iterator[tuple[str, Array]]:
    """Yield the named values, each as soon as it is computed, in the order of computation: one evaluation that holds no
    more than is still to be used. Raises as `evaluate` does."""
    names = entry_names(symbol)
    entries = {name: entry for entry, name in names.items()}
    wanted = [entries[name] if name in entries else entry_of(names, name) for name in dict.fromkeys(outputs)]
    needed = ancestors(symbol, wanted)
    refuse_unknown_operators(symbol, needed)
    refuse_missing_arrays(symbol, needed, arrays)
    sizes = list(open_sizes(symbol, needed, arrays))
    if not sizes:
        raise VerificationError("the symbol computes nothing")
    while len(sizes) > 1:
        try:
            run(symbol, needed, (), arrays, sizes[0])
        except RefusedInputs:
            sizes.pop(0)
        else:
            break
    for entry, array in steps(symbol, needed, wanted, arrays, sizes[0]):
        yield names[entry], array


def entry_names(symbol: NNVMGraph) -> dict[Entry, str]:
    """Return the name of every visible output in topological order; the second of the same name gets `#2`, and so
    on."""
    seen: Counter[str] = Counter()
    result: dict[Entry, str] = {}
    for index, node in enumerate(symbol.nodes):
        for slot, name in enumerate(output_names(node)):
            seen[name] += 1
            result[index, slot] = name if seen[name] == 1 else f"{name}#{seen[name]}"
    return result


def entry_of(names: Mapping[Entry, str], wanted: str) -> Entry:
    """Return the entry of that name; VerificationError if there is none."""
    for entry, name in names.items():
        if name == wanted:
            return entry
    raise VerificationError(f"the symbol has no output {wanted!r}")


def read_inputs(node: NNVMNode) -> list[Entry]:
    """Return the inputs that inference reads: all but the label of a loss head."""
    if node.op in LABELLED:
        return node.inputs[:1]
    plugin = plugged(node)
    if plugin is None or not plugin.unread:
        return node.inputs
    names = node_signature(node).inputs
    return [entry for entry, name in zip(node.inputs, names, strict=False) if name not in plugin.unread]


def ancestors(symbol: NNVMGraph, wanted: Iterable[Entry]) -> set[int]:
    """Return the nodes that the entries depend on, themselves included."""
    starts = (index for index, _ in wanted)
    return set(reachable(starts, lambda index: [producer for producer, _ in read_inputs(symbol.nodes[index])]))


def find_computable_nodes(symbol: NNVMGraph, arrays: Mapping[str, Array]) -> set[int]:
    """Return the indices of the nodes that can be computed: numpy knows the operators, and every variable is given."""
    result: set[int] = set()
    for index, node in enumerate(symbol.nodes):
        known = node.name in arrays if node.op == VARIABLE else reference_of(node) is not None
        if known and all(producer in result for producer, _ in read_inputs(node)):
            result.add(index)
    return result


def reference_of(node: NNVMNode) -> Reference | None:
    """Return what computes the node in numpy: graphir's own function, or that of a plugin; nothing for a range as long
    as its users read, which are not known before it is."""
    if node.attrs.get("infer_range") in ("True", "1") and node.attrs.get("stop", "None") == "None":
        return None
    known = operators().get(node.op)
    if known is not None:
        return known
    plugin = plugged(node)
    return None if plugin is None else plugin.reference


def refuse_unknown_operators(symbol: NNVMGraph, needed: set[int]) -> None:
    """Raise UnsupportedOpError with every operator that has no reference function."""
    unknown: dict[str, list[str]] = {}
    for index in sorted(needed):
        node = symbol.nodes[index]
        if node.op != VARIABLE and reference_of(node) is None:
            unknown.setdefault(node.op, []).append(node.name)
    if unknown:
        gaps = [Gap(name, "the reference evaluator does not know it", tuple(nodes)) for name, nodes in unknown.items()]
        raise UnsupportedOpError("the reference evaluator cannot compute this symbol:", gaps)


def refuse_missing_arrays(symbol: NNVMGraph, needed: set[int], arrays: Mapping[str, Array]) -> None:
    """Raise VerificationError with every variable that has no array."""
    variables = (symbol.nodes[index].name for index in sorted(needed) if symbol.nodes[index].op == VARIABLE)
    missing = [name for name in variables if name not in arrays]
    if missing:
        raise VerificationError(f"no array is given for {', '.join(missing)}")


def has_open_size(node: NNVMNode, np_shape: bool) -> bool:
    """Return whether a constant's shape holds MXNet's mark of an unknown size: 0, or -1 under np_shape semantics."""
    if node.op not in CONSTANTS:
        return False
    shape = typed_attributes(node)["shape"]
    return isinstance(shape, tuple) and (-1 if np_shape else 0) in shape


def refuse_open_rank(node: NNVMNode, np_shape: bool) -> None:
    """Refuse a constant without a shape that no user gives one: MXNet's own has no elements and no known axes."""
    if node.op not in CONSTANTS:
        return
    shape = typed_attributes(node)["shape"]
    if shape is None or (not shape and not np_shape):
        raise RefusedInputs(node.name, node.op, "it has no shape, and nothing reads it that would give it one")


def open_sizes(symbol: NNVMGraph, needed: set[int], arrays: Mapping[str, Array]) -> Iterator[int]:
    """Candidates for the sizes that constants leave open: those of the arrays, each once, the smallest first."""
    if not any(has_open_size(symbol.nodes[index], symbol.np_shape) for index in needed):
        yield 0
        return
    variables = (symbol.nodes[index].name for index in needed if symbol.nodes[index].op == VARIABLE)
    yield from sorted({size for name in variables for size in arrays[name].shape if size > 0})


def run(
    symbol: NNVMGraph, needed: set[int], wanted: Sequence[Entry], arrays: Mapping[str, Array], open_size: int
) -> dict[Entry, Array]:
    """Compute the needed nodes in order and return the wanted entries."""
    values = dict(steps(symbol, needed, wanted, arrays, open_size))
    return {entry: value_of(symbol, values, symbol.nodes[entry[0]], entry) for entry in wanted}


def steps(
    symbol: NNVMGraph, needed: set[int], wanted: Iterable[Entry], arrays: Mapping[str, Array], open_size: int
) -> Iterator[tuple[Entry, Array]]:
    """Compute the needed nodes in order and give each wanted entry when it is there; a value is freed after its last
    use."""
    request = set(wanted)
    uses: Counter[Entry] = Counter()
    for index in needed:
        uses.update(entry for entry in read_inputs(symbol.nodes[index]))
    values: dict[Entry, Array] = {}
    for index in sorted(needed):
        node = symbol.nodes[index]
        entries: list[Entry] = []
        if node.op == VARIABLE:
            results: tuple[Array, ...] = (np.asarray(arrays[node.name]),)
        else:
            entries = read_inputs(node)
            if not uses[index, 0]:
                refuse_open_rank(node, symbol.np_shape)
            results = compute(symbol, node, [value_of(symbol, values, node, entry) for entry in entries], open_size)
        for slot, result in enumerate(results):
            if uses[index, slot]:
                values[index, slot] = result
            if (index, slot) in request:
                yield (index, slot), result
        del results
        for entry in entries:
            uses[entry] -= 1
            if not uses[entry]:
                values.pop(entry, None)


def value_of(symbol: NNVMGraph, values: Mapping[Entry, Array], node: NNVMNode, entry: Entry) -> Array:
    """Return the value of an entry; a slot that inference does not produce is refused."""
    if entry not in values:
        producer = symbol.nodes[entry[0]]
        raise RefusedInputs(node.name, node.op, f"reads output {entry[1]} of {producer.name!r}, which inference lacks")
    return values[entry]


def compute(symbol: NNVMGraph, node: NNVMNode, inputs: Sequence[Array], open_size: int) -> tuple[Array, ...]:
    """Return the outputs of one node. Raises Refusal, which names the node, for what its reference refuses."""
    attributes: Mapping[str, Any] = typed_attributes(node)
    if symbol.np_shape:
        attributes = {**attributes, NP_SHAPE: True}
    if node.subgraphs:
        attributes = {
            **attributes,
            SYMBOLS: [_inside(symbol, inner) for inner in node.subgraphs],
            RECORDS: [record for inner in node.subgraphs for record in inner.nodes if record.op != VARIABLE],
        }
    if has_open_size(node, symbol.np_shape):
        mark = -1 if symbol.np_shape else 0
        attributes = {**attributes, "shape": tuple(open_size if n == mark else n for n in attributes["shape"])}
    single = node.op not in CASTS and any(is_bfloat16(array.dtype) for array in inputs)
    try:
        function = reference_of(node)
        assert function is not None
        result = function(attributes, *(map(_widened, inputs) if single else inputs))
    except (ValueError, TypeError, IndexError, ArithmeticError) as error:
        shapes = ", ".join(f"{array.dtype}{list(array.shape)}" for array in inputs)
        raise RefusedInputs(node.name, node.op, f"refuses its inputs ({shapes}): {error}") from error
    results = result if isinstance(result, tuple) else (result,)
    return tuple(map(_narrowed, results)) if single and node.op not in OWN_RESULT else results


def _widened(array: Array) -> Array:
    return array.astype(np.float32) if is_bfloat16(array.dtype) else array


def _narrowed(array: Array) -> Array:
    """Return a result of operands in bfloat16, which MXNet computes in float32, as oneDNN rounds it."""
    with np.errstate(all="ignore"):
        return array.astype(bfloat16()) if array.dtype == np.float32 else array


def _inside(symbol: NNVMGraph, inner: NNVMGraph) -> Callable[[Sequence[Array]], list[Array]]:
    """Return a function of a symbol inside another: the arrays of its heads from those of its variables, in order."""
    stored = replace(inner, version=symbol.version, np_shape=symbol.np_shape)
    variables = stored.variable_names()
    needed = ancestors(stored, stored.heads)
    refuse_unknown_operators(stored, needed)

    def call(arrays: Sequence[Array]) -> list[Array]:
        given = dict(zip(variables, arrays, strict=True))
        result = run(stored, needed, stored.heads, given, 0)
        return [result[entry] for entry in stored.heads]

    return call
