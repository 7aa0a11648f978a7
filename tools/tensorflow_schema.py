"""Write `converters/tensorflow/schema/operators.json`: every operator of the TensorFlow that runs this script.

Run by hand in an environment with TensorFlow, with the file's path as its argument.
One line an operator: its inputs and outputs by name, each with its dtype (`float32`), the attribute that states it
(`T`), how many there are (`N*T`) or the attribute with the list of dtypes (`list(Tin)`); its attributes with their kind
and, after it, their default; under "limits" by attribute the least number, the least length of a list, or the texts
that are allowed. Files leave out attributes that have their default, so that reading needs this table.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from pathlib import Path
from typing import Any


def load_operators() -> Any:
    """The OpDefs of all registered operators, and the enum of dtypes."""
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    from tensorflow.core.framework import op_def_pb2, types_pb2  # noqa: TID251
    from tensorflow.python.client import pywrap_tf_session  # noqa: TID251

    found = op_def_pb2.OpList()
    found.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    return found.op, types_pb2.DataType


NAMES = {"half": "float16", "float": "float32", "double": "float64"}


def dtype_name(types: Any, code: int) -> str:
    """`float32` for DT_FLOAT, the lower-case name for others."""
    name: str = types.Name(code).removeprefix("DT_").lower()
    return NAMES.get(name, name)


def argument(types: Any, arg: Any) -> str:
    """The dtype of an input or output, as the table has it."""
    if arg.type_list_attr:
        return f"list({arg.type_list_attr})"
    dtype = arg.type_attr or dtype_name(types, arg.type)
    return f"{arg.number_attr}*{dtype}" if arg.number_attr else dtype


def default(types: Any, attr: Any) -> Any:
    """The default of an attribute as JSON has it."""
    value = attr.default_value
    kind = value.WhichOneof("value")
    if kind == "list":
        listed = value.list
        if listed.type:
            return [dtype_name(types, code) for code in listed.type]
        return [text.decode() for text in listed.s] or list(listed.i) or list(listed.f) or list(listed.b)
    if kind == "type":
        return dtype_name(types, value.type)
    if kind == "shape":
        return None if value.shape.unknown_rank else [dim.size for dim in value.shape.dim]
    if kind == "s":
        return value.s.decode()
    if kind == "f":
        return value.f if math.isfinite(value.f) else str(value.f)
    return getattr(value, kind) if kind in ("i", "b") else None


def limits(op: Any) -> dict[str, Any]:
    """What the attributes of an operator may be, as far as that is stated. Which dtypes, the graph's operators know."""
    found: dict[str, Any] = {}
    for attr in op.attr:
        texts = [text.decode() for text in attr.allowed_values.list.s]
        if texts or attr.has_minimum:
            found[attr.name] = texts or attr.minimum
    return {"limits": found} if found else {}


def described(types: Any, op: Any) -> dict[str, Any]:
    """One operator's entry."""
    attrs = {
        attr.name: [attr.type, default(types, attr)] if attr.HasField("default_value") else [attr.type]
        for attr in op.attr
        if not attr.name.startswith("_")
    }
    return {
        "inputs": {arg.name: argument(types, arg) for arg in op.input_arg},
        "outputs": {arg.name: argument(types, arg) for arg in op.output_arg},
        "attrs": attrs,
        **limits(op),
    }


def main() -> None:
    """Write the file that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the file to write")
    out: Path = parser.parse_args().out
    operators, types = load_operators()
    lines = [
        f"{json.dumps(op.name)}: {json.dumps(described(types, op), separators=(',', ':'))}"
        for op in sorted(operators, key=lambda op: op.name)
    ]
    out.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="ascii")


if __name__ == "__main__":
    main()
