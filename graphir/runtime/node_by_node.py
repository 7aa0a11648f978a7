"""A model run node by node, to see which node ends the process, hangs or takes all memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphir.safety.foreign_text import one_line

if TYPE_CHECKING:
    import onnx


def run_nodes(
    model: bytes | str, feeds: Mapping[str, Any], start: Callable[[bytes], Any], tell: Callable[[str], None]
) -> None:
    """Run each node of an ONNX model as a model of its own, and tell which one is next.

    `start` makes a session of the bytes of a model. Stops at the first node that cannot be run by itself, and says of
    none behind it that it is next.
    """
    import onnx

    data = model if isinstance(model, bytes) else Path(model).read_bytes()
    whole = onnx.ModelProto.FromString(data)
    weights = {tensor.name: tensor for tensor in whole.graph.initializer}
    known = dict(feeds)
    for node in whole.graph.node:
        tell(f"{node.op_type} {one_line(node.name or next(iter(node.output), ''))}")
        operands = sorted({name for name in _operands(node) if name in known or name in weights})
        fed = {name: known[name] for name in operands if name in known}
        single = onnx.ModelProto(
            ir_version=whole.ir_version, opset_import=whole.opset_import, functions=whole.functions,
            graph=onnx.GraphProto(
                name="node", node=[node], initializer=[weights[name] for name in operands if name not in fed],
                input=[_declare_output(name, array) for name, array in fed.items()],
                output=[onnx.ValueInfoProto(name=name) for name in node.output if name],
            ),
        )  # fmt: skip
        names = [name for name in node.output if name]
        try:
            results = start(single.SerializeToString()).run(names, fed)
        except Exception:  # sequences, types that numpy lacks, what only works in the whole: the whole is run next
            return
        known |= zip(names, results, strict=True)


def _declare_output(name: str, array: Any) -> onnx.ValueInfoProto:
    import onnx

    dtype = onnx.helper.np_dtype_to_tensor_dtype(np.asarray(array).dtype)
    return onnx.helper.make_tensor_value_info(name, dtype, np.shape(array))


def _operands(node: onnx.NodeProto) -> Iterator[str]:
    """Yield the names that a node reads, those of the graphs inside it included."""
    yield from filter(None, node.input)
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for inner in graph.node:
                yield from _operands(inner)
            yield from (value.name for value in graph.output)
