"""Write `graphir/runtime/kernels.json`: what the CPU of an onnxruntime has kernels for.

Run by hand with each release that is to be in the table, in an environment that has it and onnx:
`python tools/onnxruntime_kernels.py graphir/runtime/kernels.json`. The entry of that release is replaced or added; with
`--only` the others are dropped. Kernels come from onnxruntime's own registry. Operators that it has no kernel for it
replaces by the function that defines them, where it has kernels for what that consists of: this is found by trying.

An entry: the newest opset and IR version that the release opens; of each operator of ONNX's own domain its kernels,
each the first and last version of the operator that it is for (null: the first one only, but at every opset that has
that one) and the element types by type variable or operand; and of functions the first and last opset (null: the newest
that the release opens) and the same types. Of a release after the first stand only the operators that the one before
has otherwise; those that it has no more have no rows.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from graphir.files.rows import rows_text

FORMAT = 3
PARTS = ("kernels", "functions")
OPEN_END = (1 << 31) - 1
OLDEST_OPSET = 13
NEWEST_TRIED = 40

Types = dict[str, str]
X, V = [2, 4, 3, 3], [4]
NUMBERS = (
    *("float", "double", "float16", "bfloat16", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64", "bool"),
)
# Of each function that is tried: its operands as (type variable or dtype, shape), the results, the attributes.
FUNCTIONS: Mapping[str, tuple[Sequence[tuple[str, list[int]]], Sequence[str], Mapping[str, Any]]] = {
    **{
        name: ([("T", X)], ["T"], {})
        for name in (
            *("Elu", "HardSigmoid", "HardSwish", "LeakyRelu", "Mish", "Relu", "Selu", "Softplus", "Softsign", "Swish"),
            *("Gelu", "ThresholdedRelu", "MeanVarianceNormalization"),
        )
    },
    "PRelu": ([("T", X), ("T", X)], ["T"], {}),
    "CastLike": ([("T1", X), ("T2", X)], ["T2"], {}),
    "Bernoulli": ([("T1", X)], ["T1"], {}),
    "GroupNormalization": ([("T", X), ("T", V), ("T", V)], ["T"], {"num_groups": 2}),
    "CenterCropPad": ([("T", X), ("Tind", [4])], ["T"], {}),
    "NegativeLogLikelihoodLoss": ([("T", X), ("Tind", [2, 3, 3])], ["T"], {}),
    "SoftmaxCrossEntropyLoss": ([("T", X), ("Tind", [2, 3, 3])], ["T"], {}),
    "Attention": ([("T1", X), ("T1", X), ("T2", X)], ["T1"], {}),
}
INDICES = ("int64", "int32")


def loads(model: Any) -> bool:
    """Whether the installed onnxruntime makes a session of a model."""
    import onnxruntime  # noqa: TID251
    from onnxruntime.capi import onnxruntime_pybind11_state as errors  # noqa: TID251

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    refusals = (errors.NotImplemented, errors.InvalidGraph, errors.InvalidArgument, errors.Fail, errors.NoSuchFile)
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except refusals:
        return False
    return True


def trial(
    op_type: str, opset: int, inputs: Sequence[tuple[str, list[int]]], results: Sequence[str],
    attributes: Mapping[str, Any], ir_version: int = 8,
) -> Any:  # fmt: skip
    """A model of one node; dtypes are named as type constraints name them."""
    from onnx import helper  # noqa: TID251

    names = [f"operand{slot}" for slot in range(len(inputs))]
    outputs = [f"result{slot}" for slot in range(len(results))]
    node = helper.make_node(op_type, names, outputs, **attributes)
    given = [
        helper.make_tensor_value_info(name, code(dtype), shape)
        for name, (dtype, shape) in zip(names, inputs, strict=True)
    ]
    made = [
        helper.make_tensor_value_info(name, code(dtype), None)
        for name, dtype in zip(outputs, results, strict=True)
    ]
    graph = helper.make_graph([node], "trial", given, made)
    versions = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=versions, ir_version=ir_version)


def code(dtype: str) -> int:
    """ONNX's number of a dtype."""
    from onnx import TensorProto  # noqa: TID251

    return int(getattr(TensorProto, dtype.upper()))


def newest(kind: str) -> int:
    """The newest `opset` or `ir` version that the installed onnxruntime opens."""
    tried = range(OLDEST_OPSET, NEWEST_TRIED) if kind == "opset" else range(8, NEWEST_TRIED)
    found = [
        number
        for number in tried
        if loads(trial("Relu", number if kind == "opset" else OLDEST_OPSET, [("float", [1])], ["float"], {},
                       8 if kind == "opset" else number))
    ]  # fmt: skip
    return max(found)


def kernels() -> dict[str, list[list[Any]]]:
    """The kernels of the CPU provider for operators of ONNX's own domain."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state  # noqa: TID251

    found: dict[str, list[tuple[int, int, dict[str, frozenset[str]]]]] = {}
    for kernel in state.get_all_opkernel_def():
        if kernel.provider == "CPUExecutionProvider" and kernel.domain in ("", "ai.onnx"):
            first, last = kernel.version_range
            types = {name: frozenset(map(short, texts)) for name, texts in kernel.type_constraints.items()}
            found.setdefault(kernel.op_name, []).append((first, last, types))
    return {name: [row(*kernel) for kernel in merged(rows)] for name, rows in sorted(found.items())}


def short(text: str) -> str:
    """`float` for `tensor(float)`; other types as they are."""
    return text.removeprefix("tensor(").removesuffix(")") if text.startswith("tensor(") else text


def row(first: int, last: int, types: Mapping[str, frozenset[str]]) -> list[Any]:
    """A kernel as JSON has it."""
    return [first, None if last == OPEN_END else last, {name: " ".join(sorted(types[name])) for name in sorted(types)}]


def merged(
    rows: list[tuple[int, int, dict[str, frozenset[str]]]],
) -> list[tuple[int, int, dict[str, frozenset[str]]]]:
    """The same kernels in fewer rows: those of the same versions that differ in one variable's types are one."""
    pending = sorted(rows, key=lambda kernel: (kernel[0], kernel[1], str(row(*kernel))))
    again = True
    while again:
        again = False
        for one, other in itertools.combinations(pending, 2):
            union = joined(one, other)
            if union is not None:
                pending = [kernel for kernel in pending if kernel is not one and kernel is not other] + [union]
                again = True
                break
    return sorted(pending, key=lambda kernel: (kernel[0], kernel[1], str(row(*kernel))))


def joined(one: Any, other: Any) -> Any:
    """One kernel for two, None where it would be for more than these."""
    if one[:2] != other[:2] or one[2].keys() != other[2].keys():
        return None
    differing = [name for name in one[2] if one[2][name] != other[2][name]]
    if len(differing) > 1:
        return None
    return (*one[:2], one[2] | {name: one[2][name] | other[2][name] for name in differing})


def functions(last_opset: int) -> dict[str, list[list[Any]]]:
    """For which dtypes, at which opsets, the release runs an operator through the function that defines it."""
    found: dict[str, list[list[Any]]] = {}
    for op_type in FUNCTIONS:
        rows: list[list[Any]] = []
        for opset in range(OLDEST_OPSET, last_opset + 1):
            for types in types_that_load(op_type, opset):
                older = next((kernel for kernel in rows if kernel[1] == opset - 1 and kernel[2] == types), None)
                if older is not None:
                    older[1] = opset
                else:
                    rows.append([opset, opset, types])
        if rows:
            split = [(first, last, {name: frozenset(text.split()) for name, text in types.items()})
                     for first, last, types in rows]  # fmt: skip
            open_ended = [(first, OPEN_END if last == last_opset else last, types) for first, last, types in split]
            found[op_type] = [row(*function) for function in merged(open_ended)]
    return found


def types_that_load(op_type: str, opset: int) -> Iterator[Types]:
    """The types with which a node loads at an opset: of its first variable, for each dtype of the second one."""
    import onnx.defs  # noqa: TID251

    if not onnx.defs.has(op_type, opset):
        return
    operands, results, attributes = FUNCTIONS[op_type]
    variables = sorted({dtype for dtype, _ in operands})
    seconds: Sequence[str] = [""]
    if len(variables) > 1:
        seconds = NUMBERS if variables[1] == "T2" else INDICES
    for second in seconds:
        taken = []
        for first in NUMBERS:
            types = {variables[0]: first, variables[-1]: second or first}
            inputs = [(types[dtype], shape) for dtype, shape in operands]
            if loads(trial(op_type, opset, inputs, [types[dtype] for dtype in results], attributes)):
                taken.append(first)
        if taken:
            yield {variables[0]: " ".join(taken), **({variables[1]: second} if second else {})}


def entry() -> dict[str, Any]:
    """What the installed onnxruntime has."""
    import onnxruntime  # noqa: TID251

    opset = newest("opset")
    return {
        "number": onnxruntime.__version__,
        "opset": opset,
        "ir_version": newest("ir"),
        "kernels": kernels(),
        "functions": functions(opset),
    }


def release(one: Mapping[str, Any]) -> tuple[int, ...]:
    """The release of an entry as numbers."""
    return tuple(int(part) for part in one["number"].split("."))


def read(file: Path) -> list[dict[str, Any]]:
    """The entries of a file that was written before."""
    document = json.loads(file.read_text(encoding="ascii"))
    found: list[dict[str, Any]] = []
    for about in document["releases"]:
        rows = {part: dict(found[-1][part]) if found else {} for part in PARTS}
        for part in PARTS:
            rows[part] |= document[f"{part} of {about['number']}"]
        found.append(about | {part: {name: held for name, held in rows[part].items() if held} for part in PARTS})
    return found


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The rows of operators that differ from those of the release before."""
    return {name: after.get(name, []) for name in sorted({*before, *after}) if before.get(name) != after.get(name)}


def text_of(entries: Sequence[Mapping[str, Any]]) -> str:
    """The whole file, one line an operator."""
    ordered = sorted(entries, key=release)
    about = [{name: one[name] for name in one if name not in PARTS} for one in ordered]
    pairs = zip([{part: {} for part in PARTS}, *ordered], ordered, strict=False)
    tables = {f"{part} of {one['number']}": changes(before[part], one[part]) for before, one in pairs for part in PARTS}
    return rows_text({"format": FORMAT, "releases": about, **tables}, *tables)


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", action="store_true", help="drop the entries of other releases")
    options = parser.parse_args()
    made = entry()
    kept = []
    if options.out.exists() and not options.only:
        kept = read(options.out)
    others = [one for one in kept if one["number"] != made["number"]]
    options.out.write_text(text_of([*others, made]), encoding="ascii")
    print(f"{options.out}: onnxruntime {made['number']}, {len(made['kernels'])} operators", file=sys.stderr)


if __name__ == "__main__":
    main()
