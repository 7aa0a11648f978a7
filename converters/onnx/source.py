"""An ONNX model opened, and a part of one: what computes the part is the file itself, cut at the same names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphir.arrays import Array
from graphir.converters.formats import Judge, Reference, Source
from graphir.ops.linear import Einsum, is_empty
from graphir.safety.foreign_text import listing
from graphir.structure.record import record

if TYPE_CHECKING:
    from graphir.converters.kernel.live import Live
    from graphir.converters.options import ModelOptions
    from graphir.graph import Graph, Value
    from graphir.runtime.session import OnnxSession

VALUES_AT_ONCE = 64
NOT_RUN = "the imported graph was the reference, not the file, in which Einsum without elements ends onnxruntime"
IMPORTED = "the imported graph was the reference, not the file, inside whose functions nothing can be cut"


def ends_onnxruntime(graph: Graph) -> list[str]:
    """Return the nodes, by name, that are known to have no elements to add up, at which onnxruntime may end its
    process."""
    return [node.name for node in graph.nodes if isinstance(node.op, Einsum) and is_empty(node.inputs)]


@record
class OnnxFile(Source):
    """A file, or with `is_part` what is left of it."""

    is_part: bool = False

    def cut(self, outputs: Sequence[str] | None, inputs: Sequence[str], given: ModelOptions) -> OnnxFile:
        """Return the part, which knows the file that it was cut from."""
        part = super().cut(outputs, inputs, given)
        return OnnxFile(part.format, part.graph, part.files, part.description, part.operators, is_part=True)

    def judges(self, against: str, live: Live | None = None) -> list[Judge]:
        """Of a part, the file cut at the same names. Without it onnxruntime runs the file."""
        deadly = ends_onnxruntime(self.graph)
        if deadly:
            return [Judge(note=f"{NOT_RUN} ({listing(deadly)})")]
        if not self.is_part:
            return []
        from graphir.converters.onnx.files.part import part_of_file

        outputs = [value.name for value in self.graph.outputs]
        model = part_of_file(self.files[0], outputs, {value.name: _value_info_of(value) for value in self.graph.inputs})
        if model is None:
            return [Judge(note=IMPORTED)]
        return [Judge(partial(FilePart, model, Path(self.files[0])))]


def _value_info_of(value: Value) -> Any:
    """Return an input's dtype and number of axes, as ONNX states them."""
    import onnx

    from graphir.converters.onnx.importing.schema_types import type_proto
    from graphir.types import UNKNOWN, TensorType

    type_ = value.type
    if isinstance(type_, TensorType) and type_.shape is not None:
        type_ = TensorType(type_.dtype, (UNKNOWN,) * len(type_.shape))
    return onnx.ValueInfoProto(name=value.name, type=type_proto(type_))


class FilePart(Reference):
    """A part of a file in onnxruntime without optimisations, beside the data that it names."""

    def __init__(self, model: Any, path: Path) -> None:
        from graphir.converters.onnx.files.structure import check_external
        from graphir.runtime.providers import import_onnxruntime

        check_external(path)
        self._model = model
        self._told = False
        self._folder = path.absolute().parent
        self.outputs = [item.name for item in model.graph.output]
        self.label = f"the part of {path.name} in onnxruntime {import_onnxruntime().__version__}, no optimisation"

    def values(self) -> list[str]:
        """Return the names of the results of the part's nodes, in the file's order."""
        return [name for node in self._model.graph.node for name in node.output if name]

    def stream(self, feeds: Mapping[str, Array], names: Iterable[str]) -> Iterator[tuple[str, Array]]:
        """Yield the named values, a few at a time."""
        pending = list(names)
        for start in range(0, len(pending), VALUES_AT_ONCE):
            chosen = pending[start : start + VALUES_AT_ONCE]
            yield from self._session(chosen).run(feeds, chosen).items()

    def _session(self, outputs: Sequence[str]) -> OnnxSession:
        import onnx

        from graphir.converters.onnx.parts import in_parts
        from graphir.runtime.session import OnnxSession

        del self._model.graph.output[:]
        self._model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs)
        data = self._model.SerializeToString()
        session = OnnxSession(data, providers="cpu", optimize=False, external=self._folder, parts=in_parts)
        if session.computed and not self._told:
            self._told = True
            self.label += f", {', '.join(session.computed)} by the plugin's own numpy"
        return session
