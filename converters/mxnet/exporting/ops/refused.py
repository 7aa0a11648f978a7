"""Operators that no symbol of MXNet computes, each with the reason; of constants some are computed beforehand."""

from __future__ import annotations

from graphir.converters.mxnet.exporting.context import ExportFunction, ExportNode, row, table
from graphir.ops import text
from graphir.ops.base import Operator
from graphir.ops.detection import NonMaxSuppression
from graphir.ops.foreign import Foreign
from graphir.ops.image import ImageDecoder
from graphir.ops.indexing import NonZero, Unique
from graphir.ops.signal import MelWeightMatrix

BY_ELEMENTS = "the size of its result depends on its input's elements; MXNet's symbols have fixed sizes"
TEXTS = (text.StringConcat, text.StringNormalizer, text.StringSplit, text.RegexFullMatch)
REASONS: dict[type[Operator], str] = {
    NonZero: BY_ELEMENTS,
    Unique: BY_ELEMENTS,
    NonMaxSuppression: "the number of boxes that it keeps depends on the data, and the shapes of MXNet's symbols do "
    "not; MXNet's _contrib_box_nms keeps all rows, with -1 in those that go",
    MelWeightMatrix: "its operands are computed; MXNet has no such operator, and a constant needs them",
    ImageDecoder: "MXNet decodes images outside of symbols (mx.image.imdecode); feed the decoded image",
    **dict.fromkeys(TEXTS, "MXNet has no tensors of string; do this before the model and feed it numbers"),
}


def refusing(reason: str) -> ExportFunction:
    """Always refused."""
    return lambda node: node.refuse(reason)


def refuse_foreign(node: ExportNode[Foreign]) -> None:
    """Operators of domains that graphir does not know."""
    op = node.op
    node.refuse(f"{op.operator_name} of the domain {op.foreign_domain or 'ai.onnx'} has no known meaning in MXNet")


EXPORTS = table(*{op: refusing(reason) for op, reason in REASONS.items()}.items(), row(Foreign, refuse_foreign))
