"""Random symbols of one operator: rows of tests/equivalence with other sizes, ranks, dtypes, attributes and values.

Many are no operator of MXNet's: live MXNet is asked first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.mxnet.importing.ops import import_table
from graphir.converters.mxnet.schema.registry import canonical_names, operator_schema
from graphir.converters.mxnet.schema.values import OperatorParameter
from tests.equivalence.case import Case, Input
from tests.equivalence.table import CASES
from tests.fuzz.symbols.values import DTYPES, FLOATS, INTEGERS, RANGE_SCALARS, SCALARS, TAME_SCALARS, Mood, draw_values

# Attributes that say where and how fast, not what; and counts that follow from the inputs.
UNTOUCHED = frozenset(
    {"ctx", "num_arrays", "workspace", "cudnn_off", "cudnn_tune", "num_args", "num_outputs", "forward_stype"}
    | {"min_factor", "max_factor"}  # two different ones draw a number between them
)
# A divisor of 0 ends the process that divides integers by it, MXNet's as much as onnxruntime's.
DIVIDES = re.compile(r"div|mod|reciprocal")
SCALAR_OPERATORS = re.compile(r"_scalar$|^smooth_l1$|^clip$|^_full$")
# MXNet ends, or writes beyond its arrays, for axes that are not there and for a divisor of 0 that `ddof` makes.
FRAGILE = re.compile(r"^_npi_(tensordot|std$|var$)")
RANGES = re.compile(r"^_arange$|^_linspace$")


@dataclass(frozen=True)
class Drawn:
    """A case, its values, and whether they hold what is not finite or large."""

    case: Case
    values: Mapping[str, NDArray[Any]]
    wild: bool

    @property
    def largest(self) -> float:
        """The largest finite magnitude among the values: what an error of rounding may be measured by."""
        floats = [array.astype(np.float64) for array in self.values.values() if array.dtype.kind == "f"]
        return max((float(np.abs(each[np.isfinite(each)]).max(initial=0.0)) for each in floats), default=0.0)

    @property
    def symbol(self) -> str:
        """The symbol's JSON."""
        return self.case.symbol_json()

    def __str__(self) -> str:
        case = self.case
        attrs = ", ".join(f"{key}={value}" for key, value in case.attrs.items())
        inputs = "; ".join(
            f"{source.name}: {source.dtype}{list(source.shape)}"
            + (f" = {self.values[case.variable(source)].ravel()[:12].tolist()}" if self.wild else "")
            for source in case.inputs
        )
        return f"{case.op}({attrs}) of {inputs}"


@cache
def rows(pattern: str = "") -> tuple[tuple[str, tuple[Case, ...]], ...]:
    """The rows to start from by operator, of those that graphir imports and whose name matches."""
    known, found = import_table(), dict[str, list[Case]]()
    for case in CASES:
        draws_numbers = case.op == "Dropout" and case.attrs.get("mode") == "always"
        if case.op in known and re.search(pattern, case.op) and not draws_numbers:
            found.setdefault(case.op, []).append(case)
    return tuple((op, tuple(cases)) for op, cases in found.items())


@cache
def aliases(op: str) -> tuple[str, ...]:
    """Every name of an operator that MXNet 1.9.1 reads."""
    return (op, *operator_schema(op).aliases)


def draw(seed: int, index: int, pattern: str = "") -> Drawn:
    """The case of that number; the same numbers give the same case everywhere."""
    generator = np.random.Generator(np.random.PCG64([seed, index]))
    table = rows(pattern)
    _, cases = table[index % len(table)]
    case = cases[generator.integers(len(cases))]
    inputs, attrs = list(case.inputs), dict(case.attrs)
    fragile = FRAGILE.search(case.op) is not None
    counted = fragile or BOXES.search(case.op) is not None or any(_is_counted(source) for source in inputs[1:])
    if generator.random() < 0.35 and not counted:
        inputs, attrs = _resized(inputs, attrs, generator)
    if generator.random() < 0.15 and not counted:
        inputs = _of_other_rank(inputs, generator)
    if generator.random() < 0.5:
        inputs = _of_other_dtype(inputs, generator)
    if case.op == "Deconvolution" and case.onednn:
        # MXNet's own kernel, the one for float64, is another than oneDNN's of a stride and a dilation above 1.
        inputs = [replace(source, dtype="float32") if source.dtype == "float64" else source for source in inputs]
    if fragile and "ddof" in attrs:
        attrs["ddof"] = "0"
    if fragile and inputs[0].dtype == "float16":  # whose squares are rounded to it: a whole number may be off by one
        attrs.pop("dtype", None)
    if generator.random() < 0.6 and not fragile:
        attrs = changed_attributes(case.op, attrs, generator)
    if case.op in ORDERS:
        inputs = [replace(source, kind="distinct", values=None) for source in inputs]
    mood = _mood(case.op, generator)
    case = replace(case, attrs=attrs, inputs=tuple(inputs), variant=str(index))
    arrays = {
        case.variable(source): draw_values(source, mood if _may_be_wild(case.op, slot, source) else Mood(), generator)
        for slot, source in enumerate(inputs)
    }
    if case.op == "_histogram" and len(inputs) > 1:  # limits rise
        arrays[case.variable(inputs[1])].sort()
    _keep_indices_inside(case, arrays)
    return Drawn(case, arrays, mood.special > 0)


def _keep_indices_inside(case: Case, arrays: dict[str, NDArray[Any]]) -> None:
    """Indices that lie outside once an attribute has changed: MXNet writes, or reads, beyond its arrays there."""
    if len(case.inputs) < 2:
        return
    name = case.variable(case.inputs[1])
    if case.op in ("scatter_nd", "_scatter_set_nd"):
        sizes = [int(number) for number in re.findall(r"-?\d+", case.attrs.get("shape", ""))]
        for axis, (row, size) in enumerate(zip(arrays[name], sizes, strict=False)):
            arrays[name][axis] = np.clip(row, -max(size, 1), max(size - 1, 0))
    if case.op == "CTCLoss":
        if case.attrs.get("blank_label", "first") == "first":
            arrays[name] = np.maximum(arrays[name], 0)  # padding is 0 then, and -1 no class
        if len(case.inputs) > 2:  # which may be the lengths of the labels
            last = case.variable(case.inputs[-1])
            arrays[last] = np.minimum(arrays[last], arrays[name].shape[-1]).astype(arrays[last].dtype)


# Values that are not drawn, by operator, and why. docs/mxnet-numbers.md tells users of the same.
#
# The order of equals and of NaN is no promise of MXNet's sorting; how a loss of order of magnitude or an infinity that
# meets a weight of 0 spreads is a matter of the order of summation (interpolation, windows, products, recurrence,
# elimination, statistics); boxes that are no boxes; indices outside an array, which MXNet reads all the same; densities
# of negative counts, where rounding decides whether a factorial is infinite.
PLAIN_ONLY = re.compile(
    r"^(argsort|topk|sort|_npi_unique|_unravel_index|_ravel_multi_index|Pooling|Pooling_v1|gather_nd|scatter_nd|RNN|Dropout|LRN|BilinearSampler|GridGenerator|SpatialTransformer|UpSampling)$"
    r"|^(_histogram|_npi_average|_npi_einsum|_npi_percentile)$"
    r"|Resize2D|AdaptiveAvg|ROI|[Bb]ox|_linalg|_npi_(cholesky|solve|svd|eig|pinv|tensorinv|tensorsolve)|Sequence|Deformable|Norm|CTC|Proposal|Correlation"
    r"|_pdf_generalized|_image_re|_cvimresize"
    r"|quantize|^_sg_mkldnn"  # a range with an infinite end holds no number
)
WITHOUT_EXTREMES = re.compile(
    r"^(Convolution|Deconvolution|FullyConnected|dot|batch_dot|khatri_rao|moments|norm|softmax|softmin|log_softmax)"
    r"|interleaved|LeakyReLU|_npi_around|im2col|smooth_l1|^mean$|^_np_cumsum$"
    r"|^_np(i|)_(sum|mean|std|var|matmul|dot|tensordot|tensordot_int_axes)$"
)


# Sorting is held against MXNet with distinct values only.
ORDERS = frozenset({"argsort", "topk", "sort"})
WEIGHTED = re.compile(r"^(Convolution|Deconvolution|FullyConnected)")
# Values that in rows of other lengths would be no boxes; an odd number of rows, whose middle MXNet leaves undefined.
BOXES = re.compile(r"_box_|MultiBox|ROI|Proposal|_image_flip")
COUNTS = re.compile(r"length|ind(ex|ices)|label|^obj$")


def _is_counted(source: Input) -> bool:
    """Whether the values are held against sizes, which must stay then."""
    return source.kind.startswith(("indices", "integers")) or COUNTS.search(source.name) is not None


def _may_be_wild(op: str, slot: int, source: Input) -> bool:
    """Whether an input may hold special values: not lengths, indices, nor weights, which meet the padding's zeros."""
    return not COUNTS.search(source.name) and (slot == 0 or not WEIGHTED.search(op))


def _mood(op: str, generator: np.random.Generator) -> Mood:
    """How wild the values are; never so where nothing can be compared."""
    without = (0.0, -1.0) if DIVIDES.search(op) else ()
    kind, extreme = generator.random(), bool(generator.random() < 0.5) and not WITHOUT_EXTREMES.search(op)
    if kind < 0.5 or PLAIN_ONLY.search(op):
        return Mood(without=without)
    return Mood(0.3 if kind < 0.8 else 0.7, extreme, without)


def _resized(
    inputs: Sequence[Input], attrs: Mapping[str, str], generator: np.random.Generator
) -> tuple[list[Input], dict[str, str]]:
    """Every size replaced by another one, the same everywhere, in the attributes too."""
    sizes = sorted({size for source in inputs for size in source.shape if size > 1})
    chosen = {size: int(generator.choice([size - 1, size, size + 1, size + 2])) for size in sizes}
    numbers = {str(size): str(new) for size, new in chosen.items()}
    named = {"num_hidden", "num_filter", "shape", "input_dim", "state_size", "reps", "depth", "axis_size"}
    changed = {
        name: re.sub(r"\d+", lambda match: numbers.get(match[0], match[0]), text) if name in named else text
        for name, text in attrs.items()
    }
    resized = [replace(source, shape=tuple(chosen.get(size, size) for size in source.shape)) for source in inputs]
    return resized, changed


def _of_other_rank(inputs: Sequence[Input], generator: np.random.Generator) -> list[Input]:
    """An axis more or less in all inputs."""
    match int(generator.integers(4)):
        case 0:
            return [replace(source, shape=(2, *source.shape)) for source in inputs]
        case 1:
            return [replace(source, shape=(*source.shape, 3)) for source in inputs]
        case 2:
            return [replace(source, shape=source.shape[1:] or (1,)) for source in inputs]
    return [replace(source, shape=source.shape[:-1] or (1,)) for source in inputs]


def _of_other_dtype(inputs: Sequence[Input], generator: np.random.Generator) -> list[Input]:
    """All inputs of the first one's dtype in another, sometimes a single input."""
    wanted = str(generator.choice(np.array(DTYPES), p=[0.1, 0.15, 0.15, 0.15, 0.12, 0.12, 0.12, 0.09]))
    if not inputs:
        return []
    if generator.random() < 0.15:
        place = int(generator.integers(len(inputs)))
        return [replace(each, dtype=wanted) if slot == place else each for slot, each in enumerate(inputs)]
    common = inputs[0].dtype
    return [replace(each, dtype=wanted) if each.dtype == common else each for each in inputs]


def changed_attributes(op: str, attrs: Mapping[str, str], generator: np.random.Generator) -> dict[str, str]:
    """One to three attributes with other values of their kind."""
    skipped = UNTOUCHED | {"mode"} if op == "Dropout" else UNTOUCHED  # mode always draws numbers at inference
    parameters = [each for name, each in operator_schema(op).parameters.items() if name not in skipped]
    found = dict(attrs)
    if not parameters:
        return found
    for _ in range(int(generator.integers(1, 4))):
        parameter = parameters[int(generator.integers(len(parameters)))]
        text = _attribute(op, parameter, found.get(parameter.name), generator)
        if text is None:
            found.pop(parameter.name, None)
        else:
            found[parameter.name] = text
    if op == "LRN" and found.get("knorm", "").startswith("-"):  # rounding decides whether a power of about 0 is one
        del found["knorm"]
    if op == "_npi_diff" and found.get("n") == "0":  # MXNet gives memory that it has not written to
        del found["n"]
    return found


def _attribute(op: str, parameter: OperatorParameter, stated: str | None, generator: np.random.Generator) -> str | None:
    """A value of the parameter's kind; None to leave it out."""
    kind = parameter.kind
    if not parameter.required and generator.random() < 0.1:
        return None
    if kind.endswith(" or None"):
        if generator.random() < 0.15:
            return "None"
        kind = kind.removesuffix(" or None")
    if kind.startswith("{"):
        return _member(kind, generator)
    if kind == "boolean":
        return str(generator.choice(np.array(["True", "False", "1", "0"])))
    if parameter.name == "temperature":  # a negative one turns the order round, in which infinities lose their place
        return str(generator.choice(np.array(["0.1", "0.7", "1", "2.5"])))
    if RANGES.search(op) and kind in ("float", "double"):  # large ones are gigabytes, MXNet's too
        return str(generator.choice(np.array(RANGE_SCALARS)))
    if "mod" in op and kind in ("float", "double"):  # of 1e30 MXNet's remainder is inexact
        return str(generator.choice(np.array(TAME_SCALARS)))
    if kind in ("float", "double"):
        return str(generator.choice(np.array(SCALARS if SCALAR_OPERATORS.search(op) else TAME_SCALARS)))
    if kind.startswith(("int", "long")):
        return str(_integer(stated, generator))
    if "Shape" in kind or kind.startswith("tuple"):
        return _tuple(kind, stated, generator)
    return stated


def _member(kind: str, generator: np.random.Generator) -> str:
    members = [member.strip(" '") for member in kind[1:-1].split(",")]
    known = [member for member in members if member != "bfloat16"]
    return str(generator.choice(np.array(known)))


def _integer(stated: str | None, generator: np.random.Generator) -> int:
    near = int(stated) if stated is not None and re.fullmatch(r"-?\d+", stated) else 0
    return int(generator.choice([near - 1, near + 1, 0, 1, 2, -1, -2, 3]))


def _tuple(kind: str, stated: str | None, generator: np.random.Generator) -> str:
    entries = re.findall(r"-?[\d.]+|None", stated or "")
    if not entries:
        entries = [str(int(number)) for number in generator.integers(-1, 4, int(generator.integers(0, 4)))]
    match int(generator.integers(5)):
        case 0:
            entries = entries[:-1]
        case 1:
            entries = [*entries, str(int(generator.integers(-1, 3)))]
        case 2 if entries:
            entries[int(generator.integers(len(entries)))] = str(int(generator.integers(-2, 5)))
        case 3 if entries:
            entries = [entries[place] for place in generator.permutation(len(entries))]
        case _ if entries:
            place = int(generator.integers(len(entries)))
            if re.fullmatch(r"-?\d+", entries[place]):
                entries[place] = str(int(entries[place]) + int(generator.choice([-1, 1])))
    return f"({', '.join(entries)}{',' if len(entries) == 1 else ''})"


__all__ = ["FLOATS", "INTEGERS", "Drawn", "aliases", "canonical_names", "changed_attributes", "draw", "rows"]
