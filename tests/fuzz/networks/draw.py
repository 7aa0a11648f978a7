"""Random networks: rows of tests/equivalence as nodes over each other's results, with control flow, sharing and AMP.

A row's operand is a result of the network, brought to the shape and dtype that the row wants, or a variable of its own;
a weight is now and then one that another node has. What jumps where its operand changes little (rounding, comparison,
sorting, conversion to integers) reads only what is the same on every road.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from graphir.converters.mxnet.importing.ops import import_table
from graphir.converters.mxnet.reference import operators
from tests.equivalence import activation, convolution, linear, normalization, pooling, recurrent, shape
from tests.equivalence.case import Case, Input
from tests.equivalence.table import CASES
from tests.fuzz.networks.control import conditional, loop, scan
from tests.fuzz.networks.network import Array, Entry, Network, NoNode
from tests.fuzz.symbols.draw import PLAIN_ONLY, WITHOUT_EXTREMES, changed_attributes
from tests.fuzz.symbols.values import FLOATS, Mood, draw_values

Generator = np.random.Generator

JUMPS = re.compile(
    r"round|rint|ceil|floor|fix|trunc|sign|equal|greater|lesser|logical|mod|arg|sort|topk|one_hot|quantize|nms|Proposal"
    r"|_ste$|allclose|around|int8|MultiBox|box_|histogram|unique|nonzero|boolean|where|digitize|searchsorted|pick|take"
    r"|Embedding|gather|scatter|index|isnan|isinf|isfinite|finite|power|rcbrt|rsqrt|log|gamma|Sequence|ROI|linalg|CTC|svd|hue"
)
# 8-bit sums and products that may lie half way between two steps; random symbols draw them, and prove the ties.
INEXACT = ("_contrib_quantized_elemwise_add", "_contrib_quantized_elemwise_mul")
REMAINDER = re.compile(r"mod_scalar$")  # of a scalar beyond 2^53 MXNet's is not the exact one
MOVES = re.compile(
    r"^(Reshape|Flatten|transpose|expand_dims|squeeze|slice|slice_axis|slice_like|Concat|stack|SliceChannel|_split_v2|"
    r"SwapAxis|repeat|tile|reverse|relu|_copy|abs|negative|Pad|depth_to_space|space_to_depth|broadcast_to|broadcast_axis)$"
)
TAME = 4.0  # values beyond it are squashed before a further node reads them
KINDS = {"normal": None, "unit": ("tanh", 0.9), "positive": ("abs", None), "halves": None}
BROADCASTS = ("broadcast_add", "broadcast_mul", "broadcast_maximum", "broadcast_sub")
PAIRS = ("elemwise_add", "elemwise_mul", "elemwise_sub", "_maximum", "_minimum")
FUNCTIONS = ("relu", "sigmoid", "tanh", "square", "negative", "_copy", "softsign", "abs")
LAYERS = (activation, convolution, linear, normalization, pooling, recurrent, shape)  # of which networks mostly consist
LARGEST = 4096  # elements of one value


@dataclass(frozen=True)
class Drawn:
    """A network: its symbol, its arrays, which of them are weights, and whether any of its values is float16."""

    symbol: str
    arrays: Mapping[str, Array]
    params: frozenset[str]
    half: bool
    onednn: bool

    def __str__(self) -> str:
        nodes = json.loads(self.symbol)["nodes"]
        lines = []
        for node in nodes:
            if node["op"] == "null":
                array = self.arrays.get(node["name"])
                lines.append(f"{node['name']}: {'' if array is None else f'{array.dtype}{list(array.shape)}'}")
            else:
                attrs = ", ".join(f"{key}={value}" for key, value in node.get("attrs", {}).items())
                reads = " ".join(f"{nodes[place]['name']}:{slot}" for place, slot, _ in node["inputs"])
                lines.append(f"{node['name']} = {node['op']}({reads}) {attrs}")
                lines.extend(f"    inside: {_inside(each)}" for each in node.get("subgraphs", ()))
        return "\n      ".join(lines)


def _inside(symbol: Mapping[str, Any]) -> str:
    nodes = symbol["nodes"]
    lines = []
    for node in nodes:
        reads = " ".join(nodes[place]["name"] for place, *_ in node["inputs"])
        attrs = " ".join(f"{key}={value}" for key, value in node.get("attrs", {}).items())
        lines.append(f"{node['name']}" + (f" = {node['op']}({reads}) {attrs}" if node["op"] != "null" else ""))
    return "; ".join(lines) + " -> " + " ".join(nodes[place]["name"] for place, *_ in symbol["heads"])


@cache
def rows(np_shape: bool, wild: bool, layers: bool = False) -> tuple[tuple[Case, ...], ...]:
    """The rows that can be nodes, by operator: small ones of known operators; under np_shape or not; for values that
    are not finite; of layers only."""
    known, computed = import_table(), operators()
    cases = [case for family in LAYERS for case in family.CASES] if layers else CASES
    found: dict[str, list[Case]] = {}
    usable = (
        case
        for case in cases
        if case.op in known
        and case.op in computed
        and case.inputs
        and not case.inside  # a network's nodes are made without the symbols inside them
        and (np_shape or not case.np_shape)
        and case.op != "_grad_add"  # adds in place, in MXNet's memory: of a value that others read too, it is undefined
        and case.op not in INEXACT
        and not (case.op == "Dropout" and case.attrs.get("mode") == "always")
        and not (case.op == "_npi_diff" and case.attrs.get("n") == "0")  # nothing is copied: others write there too
        and not (wild and (PLAIN_ONLY.search(case.op) or WITHOUT_EXTREMES.search(case.op)))
        and (wild or all(np.isfinite(source.values or ()).all() for source in case.inputs))
        and all(np.prod(source.shape, dtype=np.int64) <= LARGEST for source in case.inputs)
    )
    for case in usable:
        found.setdefault(case.op, []).append(case)
    return tuple(tuple(each) for each in found.values())


class Drawing:
    """The steps of one network."""

    def __init__(self, seed: int, index: int) -> None:
        self.draw: Generator = np.random.Generator(np.random.PCG64([seed, index, 13]))
        self.wild = bool(self.draw.random() < 0.15)
        self.network = Network(np_shape=bool(self.draw.random() < 0.3))
        self.onednn = self.plain = False

    def chance(self, probability: float) -> bool:
        """Whether something happens."""
        return bool(self.draw.random() < probability)

    def run(self) -> Drawn:
        """Draw the network."""
        steps: tuple[tuple[Callable[[], None], float], ...] = (
            (self.row, 0.6), (self.pair, 0.14), (self.amp, 0.08), (self.control, 0.12), (self.chain, 0.06),
        )  # fmt: skip
        wanted, shares = int(self.draw.integers(3, 10)), [share for _, share in steps]
        while wanted > 0 or not self.network.entries:
            step = steps[int(self.draw.choice(len(steps), p=shares))][0] if self.network.entries else self.row
            wanted -= 1
            try:
                step()
            except NoNode:
                continue
        return self._drawn()

    def _drawn(self) -> Drawn:
        entries = self.network.entries
        heads = [entries[-1]]
        for _ in range(int(self.draw.integers(0, 4))):
            heads.append(entries[int(self.draw.integers(len(entries)))])
        heads.extend(each for each in entries if not each.array.size)  # which later nodes do not read
        heads.extend(self.network.first_results(heads))
        text = self.network.text(list(dict.fromkeys(heads)))  # MXNet has one name for a value that comes twice
        names = {node["name"] for node in json.loads(text)["nodes"] if node["op"] == "null"}
        arrays = {name: array for name, array in self.network.arrays.items() if name in names}
        half = any(each.array.dtype == np.float16 for each in (*entries, *heads))
        half = half or any(array.dtype == np.float16 for array in arrays.values())
        return Drawn(text, arrays, frozenset(self.network.params & names), half, self.onednn)

    def row(self) -> None:
        """A row of the tests as a node."""
        table = rows(self.network.np_shape, self.wild, self.chance(0.4))
        cases = table[int(self.draw.integers(len(table)))]
        case = cases[int(self.draw.integers(len(cases)))]
        if self.chance(0.2) and not REMAINDER.search(case.op):
            attrs = changed_attributes(case.op, case.attrs, self.draw)
            if attrs.get("eps", "").startswith("-"):  # NaN of small variances, of which the rest of a network is full
                attrs["eps"] = attrs["eps"][1:]
            case = replace(case, attrs=attrs)
        if "rcond" in case.attrs:  # below the dtype's own step rounding decides which singular values are 0
            case = replace(case, attrs={**case.attrs, "rcond": str(max(float(case.attrs["rcond"]), 1e-5))})
        if self.chance(0.12):
            dtype, first = self._one_of(FLOATS), case.inputs[0].dtype
            same = first in FLOATS and not case.onednn
            inputs = (replace(each, dtype=dtype) if same and each.dtype == first else each for each in case.inputs)
            case = replace(case, inputs=tuple(inputs))
        # oneDNN's SoftmaxOutput of several axes is over the last one.
        plain = case.op == "SoftmaxOutput" and len(case.inputs[0].shape) > 2 and "multi_output" not in case.attrs
        if (plain and self.onednn) or (case.onednn and self.plain):
            raise NoNode("oneDNN computes something else")
        jumps = JUMPS.search(case.op) is not None
        operands = [self._operand(source, slot, jumps) for slot, source in enumerate(case.inputs)]
        if case.op == "CTCLoss":
            _keep_labels_inside(case.attrs, *(operand.array for operand in operands[1:]))
        self.network.add(case.op, operands, case.attrs, heads=case.heads, exact=MOVES.search(case.op) is not None)
        self.onednn, self.plain = self.onednn or case.onednn, self.plain or plain

    def _operand(self, source: Input, slot: int, jumps: bool) -> Entry:
        if source.role in ("param", "aux"):
            return self._weight(source)
        if source.role == "data" and source.values is None and source.kind in KINDS and self.chance(0.8):
            found = self._bridged(source, jumps)
            if found is not None:
                return found
        wild = self.wild and source.role == "data" and source.kind == "normal"
        return self.network.variable(draw_values(source, Mood(0.3) if wild else Mood(), self.draw))

    def _weight(self, source: Input) -> Entry:
        alike = [
            each
            for each in self.network.weights
            if (each.array.shape, str(each.array.dtype)) == (source.shape, source.dtype)
        ]
        if alike and source.role == "param" and source.kind == "normal" and self.chance(0.4):
            return alike[int(self.draw.integers(len(alike)))]
        made = self.network.variable(draw_values(source, Mood(), self.draw), param=True)
        if source.role == "aux" or source.kind != "normal":
            self.network.weights.remove(made)  # a state belongs to one node
        return made

    def _bridged(self, source: Input, exactly: bool) -> Entry | None:
        """A value of the network in the shape, dtype and range that a row wants; None where none will do."""
        count = int(np.prod(source.shape, dtype=np.int64))
        to_integers = np.dtype(source.dtype).kind != "f"
        usable = [
            each
            for each in self.network.entries
            if 0 < each.array.size <= LARGEST
            and (each.exact or not exactly)
            and (each.array.dtype.kind != "f" or not to_integers)
            and (self.network.np_shape or each.array.ndim)
        ]
        if not usable or count == 0 or (not source.shape and not self.network.np_shape):
            return None
        near = [each for each in usable if each.array.shape == source.shape]
        pool = near if near and self.chance(0.7) else usable
        found = pool[-1 - int(self.draw.integers(min(len(pool), 8)))]
        found = self._of_dtype(self._of_shape(found, source.shape), source.dtype)
        return self._in_range(found, source.kind) if not to_integers else found

    def _of_shape(self, value: Entry, shape: tuple[int, ...]) -> Entry:
        if value.array.shape == shape:
            return value
        add, count = self.network.add, int(np.prod(shape, dtype=np.int64))
        if value.array.size != count:
            (value,) = add("Reshape", [value], {"shape": (-1,)}, exact=True)
            if value.array.size < count:
                (value,) = add("tile", [value], {"reps": (-(-count // value.array.size),)}, exact=True)
            if value.array.size > count:
                (value,) = add("slice_axis", [value], {"axis": 0, "begin": 0, "end": count}, exact=True)
        op, name = ("_np_reshape", "newshape") if self.network.np_shape else ("Reshape", "shape")
        return value if value.array.shape == shape else add(op, [value], {name: shape}, exact=True)[0]

    def _of_dtype(self, value: Entry, dtype: str) -> Entry:
        if str(value.array.dtype) == dtype:
            return value
        op = "amp_cast" if np.dtype(dtype).kind == value.array.dtype.kind == "f" and self.chance(0.3) else "Cast"
        return self.network.add(op, [value], {"dtype": dtype}, exact=True)[0]

    def _in_range(self, value: Entry, kind: str) -> Entry:
        add = self.network.add
        finite = np.isfinite(value.array).all()
        if kind == "positive":
            (value,) = add("abs", [value], exact=True)
            (value,) = add("clip", [value], {"a_min": 0.5, "a_max": 2.0}, exact=True)
        elif kind == "unit":
            (value,) = add("clip", [value], {"a_min": -0.95, "a_max": 0.95}, exact=True)
        elif finite and np.abs(value.array).max(initial=0.0) > TAME:
            (value,) = add("clip", [value], {"a_min": -TAME, "a_max": TAME}, exact=True)
        return value

    def _floats(self) -> list[Entry]:
        entries = self.network.entries
        return [each for each in entries if each.array.dtype.kind == "f" and 0 < each.array.size <= LARGEST]

    def _some_float(self) -> Entry:
        found = self._floats()
        if not found:
            raise NoNode("nothing to read")
        return self._in_range(found[-1 - int(self.draw.integers(min(len(found), 8)))], "normal")

    def _one_of(self, names: tuple[str, ...]) -> str:
        return names[int(self.draw.integers(len(names)))]

    def pair(self) -> None:
        """Two values joined: a residual connection, a broadcast, a concatenation."""
        left, right = self._some_float(), self._some_float()
        kind = int(self.draw.integers(4))
        if kind == 0:
            op = self._one_of(BROADCASTS)
            self.network.add(op, [left, self._of_dtype(right, str(left.array.dtype))])
            return
        right = self._of_dtype(self._of_shape(right, left.array.shape), str(left.array.dtype))
        if kind == 1 and left.array.ndim:
            axis = int(self.draw.integers(left.array.ndim))
            self.network.add("Concat", [left, right, left], {"dim": axis, "num_args": 3}, exact=True)
        elif kind == 2:
            self.network.add("add_n", [left, right, right], {"num_args": 3})
        else:
            op = self._one_of(PAIRS)
            self.network.add(op, [left, right])

    def amp(self) -> None:
        """Casts as AMP writes them: one value to another float, or several to the widest or narrowest of theirs."""
        if self.chance(0.5):
            dtype = self._one_of(("float16", "float32"))
            self.network.add("amp_cast", [self._some_float()], {"dtype": dtype}, exact=True)
            return
        values = [self._some_float() for _ in range(int(self.draw.integers(2, 4)))]
        attrs = {"num_outputs": len(values), "cast_narrow": self.chance(0.5)}
        self.network.add("amp_multicast", values, attrs, heads=len(values), exact=True)

    def chain(self) -> None:
        """Elementwise functions, one after the other."""
        value = self._some_float()
        for _ in range(int(self.draw.integers(1, 4))):
            op = self._one_of(FUNCTIONS)
            (value,) = self.network.add(op, [value])

    def control(self) -> None:
        """A loop over slices, a loop with a condition, or a branch."""
        kind = (scan, loop, conditional)[int(self.draw.integers(3))]
        value = self._some_float()
        value = self._of_dtype(value, "float32")
        kind(self.network, value, self.draw)


def _keep_labels_inside(attrs: Mapping[str, str], labels: Array, *lengths: Array) -> None:
    """Labels that are classes, and no more of them than there are: MXNet reads beyond its arrays otherwise. Where the
    first class is the blank 0 pads, and -1 is no class."""
    if attrs.get("blank_label", "first") == "first":
        np.maximum(labels, 0, out=labels)
    for length in lengths:
        np.minimum(length, labels.shape[-1], out=length)


def draw(seed: int, index: int) -> Drawn:
    """The network of that number; the same numbers give the same network everywhere."""
    drawing = Drawing(seed, index)
    return drawing.run()


__all__ = ["Drawn", "draw", "rows"]
