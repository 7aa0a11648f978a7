"""Shapes of inputs that nobody gave: what the symbol states, what the weights say, and names for what stays open."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.schema.values import parse_shape
from graphir.decisions import DecisionKind
from graphir.errors import FormatError, ImportFailure, ShapeError
from graphir.graph import Graph, Value
from graphir.inference import infer_graph, infer_types
from graphir.inference.constraints import find_constraints, fits
from graphir.inference.declared import contradiction, nearest
from graphir.passes.name_sizes import name_open_sizes
from graphir.types import UNKNOWN, Dim, Shape, Sym, TensorType, Unknown, format_shape, substitute, symbol

OPEN_INPUT = DecisionKind.INPUT_SHAPE
TRIED = 8
AXIS_NAMES = {2: "NC", 3: "NCW", 4: "NCHW", 5: "NCDHW"}


def declared_shape(source: NNVMGraph, record: NNVMNode) -> Shape | None:
    """Return the shape that `__shape__` states; MXNet's unknown sizes (0, or -1 and None with np_shape) become
    unknown."""
    text = record.annotations.get("__shape__")
    if text is None:
        return None
    try:
        dims = parse_shape(text)
    except ValueError as error:
        raise FormatError(f"the variable {record.name!r} states the shape {text!r}: {error}") from error
    if dims is None or (not dims and not source.np_shape):
        return None
    unknown = {-1, None} if source.np_shape else {0, -1, None}
    return tuple(UNKNOWN if dim is None or dim in unknown else dim for dim in dims)


def check_inputs(
    source: NNVMGraph,
    shapes: Mapping[str, Shape | None],
    dtypes: Collection[str],
    params: Collection[str],
    graph: Graph,
) -> None:
    """Raise ImportFailure for what is given for no variable, and for shapes that contradict what a variable declares.

    Another batch, the first axis, is taken, which is a decision: MXNet takes what is given, and symbols keep the batch
    that they were trained with.
    """
    variables = {node.name: node for node in source.nodes if node.op == VARIABLE}
    problems = []
    for name in dict.fromkeys([*shapes, *dtypes]):
        if name not in variables:
            known = [held for held in variables if held not in params]
            problems.append(f"a shape or dtype was given for {name!r}, which is no input; {nearest(name, known)}")
            continue
        given, declared = shapes.get(name), declared_shape(source, variables[name])
        if given and declared and not contradiction(name, given[1:], declared[1:]):
            if contradiction(name, given, declared):
                text = f"the symbol declares {format_shape(declared)}; the batch of {format_shape(given)} is used"
                graph.decide(OPEN_INPUT, name, text)
            continue
        problems.append(contradiction(name, given, declared))
    problems = [text for text in problems if text]
    if problems:
        raise ImportFailure("\n  ".join(problems))


def settle_sizes(graph: Graph, given: Collection[str] = ()) -> None:
    """Infer what the parameters say of the inputs, name the sizes that stay open, and fix those that weights bind.

    Inputs whose shapes were `given` keep them; that weights bind their symbolic sizes is recorded. Raises ImportFailure
    for contradictions.
    """
    if any(_is_open(value) for value in graph.values):
        infer_shapes(graph)
        opened = _name_open_sizes(graph)
        if len(opened) > 1:
            infer_shapes(graph)
            name_open_sizes(graph, opened, lambda value, axis: _axis_name(graph, value, axis), one_batch=False)
    if not all(isinstance(value.type, TensorType) and value.type.is_static for value in graph.values):
        infer_shapes(graph)
        _fix_bound_sizes(graph, given)
    if any(node.op.name == "Fill" for node in graph.nodes):
        from graphir.passes.fills import resolve_fills

        resolve_fills(graph)


def _is_open(value: Value) -> bool:
    type_ = value.type
    if isinstance(type_, TensorType) and type_.is_static:
        return False
    return value.dtype is None or value.shape is None or any(isinstance(dim, Unknown) for dim in value.shape)


def describe_open(value: Value, why: str = "") -> None:
    """Record that a shape was not given, and what says its rank."""
    text = f"not fully given: it is {value.type}, with symbolic sizes where it is open"
    known = next((made for made in value.graph.decisions if (made.kind, made.node) == (OPEN_INPUT, value.name)), None)
    if known is not None:
        value.graph.decisions.remove(known)
        why = why or known.text.partition("; ")[2]
    value.graph.decide(OPEN_INPUT, value.name, f"{text}; {why}" if why else text)


def infer_shapes(graph: Graph) -> None:
    """Run inference over the whole graph. Raises ImportFailure for a contradiction."""
    try:
        infer_graph(graph)
    except ShapeError as error:
        raise ImportFailure(str(error)) from error


def _name_open_sizes(graph: Graph) -> dict[str, tuple[Value, int]]:
    """Give the open sizes of the inputs names, which are returned with the input and the axis."""
    opened: dict[str, tuple[Value, int]] = {}
    for value in graph.inputs:
        if value.shape is None or not _is_open(value):
            continue
        axes = [axis for axis, dim in enumerate(value.shape) if isinstance(dim, Unknown)]
        names = {axis: _axis_name(graph, value, axis) for axis in axes}
        opened |= {name: (value, axis) for axis, name in names.items()}
        _fix_shape(value, tuple(symbol(names[axis]) if axis in names else dim for axis, dim in enumerate(value.shape)))
        describe_open(value)
    return opened


def _fix_shape(value: Value, shape: Shape) -> None:
    stated = value.declared.dtype if isinstance(value.declared, TensorType) else None
    value.graph.retype(value, TensorType(value.dtype, shape), TensorType(stated, shape))


def _axis_name(graph: Graph, value: Value, axis: int) -> str:
    rank = value.rank or 0
    if len(graph.inputs) == 1 and rank in AXIS_NAMES:
        return AXIS_NAMES[rank][axis]
    clean = "".join(letter if letter.isalnum() else "_" for letter in value.name)
    return f"{clean if not clean[0].isdigit() else '_' + clean}_{axis}"


def _fix_bound_sizes(graph: Graph, given: Collection[str]) -> None:
    """Give open sizes that the weights bind (a fully connected layer behind them) the likeliest number that fits.

    A number fits if every constraint holds and inference accepts it: floor divisions of small numbers may meet a
    constraint by accident where no window would fit. Of a range the one with the most factors of two is the likeliest:
    so people choose the sizes of pictures.
    """
    constraints = find_constraints(graph)
    if not constraints:
        return
    shared = [constraint for constraint in constraints if _is_of_several(graph, constraint.size.symbols())]
    for constraint in shared[:4]:
        text = f"{constraint.size} must be {constraint.number}, which no size alone says: give the shapes with -i"
        graph.decide(DecisionKind.SIZE_BOUND_BY_WEIGHTS, constraint.node, text)
    constraints = [constraint for constraint in constraints if constraint not in shared]
    if not constraints:
        return
    names = frozenset().union(*(constraint.size.symbols() for constraint in constraints))
    runs = ((run, _likeliest(graph, names, run)) for run in fits(constraints, names))
    accepted = next(((run, number) for run, number in runs if number is not None), None)
    if not accepted:
        for constraint in constraints[:4]:
            text = f"{constraint.size} must be {constraint.number}; no square input fits: give the shape with -i"
            graph.decide(DecisionKind.SIZE_BOUND_BY_WEIGHTS, constraint.node, text)
        return
    (least, most), number = accepted
    chosen: dict[str, Dim] = dict.fromkeys(names, number)
    others = f" ({least} to {most} do)" if most > least else ""
    why = "the size with the most factors of two that fits" if most > least else "the size that fits"
    for value in graph.inputs:
        if value.shape is None or not any(isinstance(dim, Sym) and dim.symbols() & names for dim in value.shape):
            continue
        if value.name in given:
            fitting = f"{least} to {most}" if most > least else str(least)
            text = f"{', '.join(sorted(names))} must be {fitting} for the weights of {constraints[0].node}"
            graph.decide(DecisionKind.SIZE_BOUND_BY_WEIGHTS, value.name, text)
            continue
        _fix_shape(value, tuple(substitute(dim, chosen) for dim in value.shape))
        graph.decisions[:] = [
            found for found in graph.decisions if (found.kind, found.node) != (OPEN_INPUT, value.name)
        ]
        graph.decide(
            OPEN_INPUT,
            value.name,
            f"not given: it is {value.type}; {', '.join(sorted(names))} = {number} is {why} the weights of "
            f"{constraints[0].node}{others}; -i {value.name}:... chooses another",
        )
    infer_shapes(graph)


def _is_of_several(graph: Graph, names: Collection[str]) -> bool:
    """Return whether sizes of several inputs are among the names."""
    shapes = [value.shape or () for value in graph.inputs]
    return sum(any(isinstance(dim, Sym) and dim.symbols() & set(names) for dim in shape) for shape in shapes) > 1


def _likeliest(graph: Graph, names: Collection[str], run: tuple[int, int]) -> int | None:
    """Return the number of a run that inference accepts and that has the most factors of two."""
    least, most = run
    ordered = sorted(range(least, most + 1), key=lambda number: (-(number & -number), number))
    tried = dict.fromkeys([*ordered[:TRIED], least])
    return next((number for number in tried if _accepts(graph, dict.fromkeys(names, number))), None)


def _accepts(graph: Graph, sizes: Mapping[str, Dim]) -> bool:
    """Return whether inference finds no contradiction with these sizes."""
    shapes = {
        value.name: tuple(substitute(dim, sizes) for dim in value.shape)
        for value in graph.inputs
        if value.shape is not None
    }
    try:
        infer_types(graph, shapes)
    except ShapeError:
        return False
    return True
