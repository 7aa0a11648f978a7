"""What the front ends share: names, what was refused, trials, and one contract of the node's view."""

from __future__ import annotations

import inspect

import pytest

from graphir import Graph
from graphir.converters.kernel.exporting import BaseExportNode
from graphir.converters.kernel.importing import BaseImporter, BaseImportNode
from graphir.converters.kernel.node import NodeView
from graphir.converters.kernel.refusals import NeedsShape, Refusal
from graphir.converters.mxnet.importing.context import ImportNode as MXNetImportNode
from graphir.converters.onnx.exporting.context import ExportNode as OnnxExportNode
from graphir.converters.onnx.importing.context import ImportNode as OnnxImportNode
from graphir.converters.tensorflow.importing.context import ImportNode as TensorFlowImportNode
from graphir.decisions import DecisionKind
from graphir.errors import ImportFailure, ShapeError, UnsupportedOpError
from graphir.inference.engine import parse_dims
from graphir.ops.elementwise import Add
from graphir.structure.names import Names
from graphir.types import DType, TensorType

IMPORT_NODES = [MXNetImportNode, OnnxImportNode, TensorFlowImportNode]


@pytest.mark.parametrize("cls", [*IMPORT_NODES, OnnxExportNode])
def test_what_is_read_of_operands_is_the_same_everywhere(cls: type[NodeView]) -> None:
    base = BaseExportNode if cls is OnnxExportNode else BaseImportNode
    assert issubclass(cls, base)
    shared = ("input", "known", "integers", "dtype", "shape", "rank", "sizes", "axis", "refuse", "charge", "vector")
    own = [name for name in shared if name in vars(cls)]
    assert own == (["vector"] if cls is OnnxExportNode else [])


@pytest.mark.parametrize("cls", IMPORT_NODES)
def test_what_is_added_takes_the_same_arguments_first(cls: type[BaseImportNode]) -> None:
    for name in ("emit", "emit_all", "step", "steps", "constant", "scalar_like", "parameter", "decide"):
        wanted = list(inspect.signature(getattr(BaseImportNode, name)).parameters)
        found = list(inspect.signature(getattr(cls, name)).parameters)
        assert found[: len(wanted)] == wanted


class Standing(BaseImportNode):
    """A node without operands."""

    @property
    def inputs(self) -> tuple[()]:
        """None."""
        return ()


def made() -> tuple[BaseImporter, BaseImportNode]:
    importer = BaseImporter(Graph("g"), ["taken"])
    return importer, Standing(importer, importer.graph, "node", "Foreign")


def test_names_are_the_node_s_and_fresh() -> None:
    importer, node = made()
    x = importer.graph.add_input(importer.fresh_name("taken"), TensorType(DType.FLOAT32, (2,)))
    values = [x, node.step(Add(), x, x), node.step(Add(), x, x), node.emit(Add(), x, x), node.vector([1])]
    assert [value.name for value in values] == ["taken_1", "node_add", "node_add_1", "node", "node_const"]


def test_unknown_shapes_are_inferred_first_and_then_asked_for() -> None:
    importer, node = made()
    x = importer.graph.add_input("x", TensorType(DType.FLOAT32, parse_dims(("n", 3))))
    unknown = importer.graph.add_input("y")
    assert (node.rank(x), node.sizes(x, [1]), node.sizes_if_known(x)) == (2, (3,), None)
    with pytest.raises(NeedsShape, match=r"^Foreign needs the sizes of x, found float32\[n, 3\]$"):
        node.sizes(x)
    with pytest.raises(NeedsShape, match="number of axes of y"):
        node.shape(unknown)
    with pytest.raises(ShapeError, match="expected 3 axes or more"):
        node.sizes(x, [2])
    with pytest.raises(Refusal, match="axis 2 does not exist"):
        node.axis(2, 2)


def test_a_trial_leaves_nothing_behind_unless_it_is_kept() -> None:
    importer, node = made()
    for kept, name in ((False, "a"), (True, "a"), (True, "a_1")):
        with importer.trial() as trial:
            assert importer.fresh_name("a") == name
            importer.refuse("Foreign", "because", name)
            node.decide(DecisionKind.OTHER, name)
            trial.kept = kept
    assert [gap.nodes for gap in importer.refusals.gaps] == [("a", "a_1")]
    assert [decision.text for decision in importer.graph.decisions] == ["a", "a_1"]
    assert importer.failures == 2


def test_everything_that_is_wrong_is_said() -> None:
    importer, _ = made()
    importer.raise_problems()
    importer.problem("one")
    with pytest.raises(ImportFailure, match=r"^one$"):
        importer.raise_problems()
    importer.problem("two")
    with pytest.raises(ImportFailure, match=r"^2 problems with the model:\n  one\n  two$"):
        importer.raise_problems()
    importer.refuse("Foreign", "because", "n")
    with pytest.raises(UnsupportedOpError, match=r"^1 node\(s\) of the model cannot be imported:"):
        importer.raise_problems()


def test_names_are_given_once_and_can_be_given_up() -> None:
    names = Names(["a"])
    mark = names.mark()
    assert [names.fresh("a"), names.claim("b"), names.claim("b"), names.fresh("b")] == ["a_1", True, False, "b_1"]
    names.back_to(mark)
    assert [names.fresh("a"), names.claim("b")] == ["a_1", True]
