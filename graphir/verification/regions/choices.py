"""The candidate as it runs, with onnxruntime's optimisations, on the reference's numbers only where numbers choose.

Two models that compute the same are apart at their ends where rounding turns a choice: of two boxes whose scores are
next to equal another one stays. Given the reference's numbers before and behind each choice, what is left are chains
of layers, and these give the reference's results as any network without choices does: by one run, with all that
onnxruntime fuses between choices.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphir.analysis.channels import channel_order, known_order
from graphir.errors import GraphirError
from graphir.graph import Value
from graphir.ops.traits import DecisionTrait
from graphir.verification.numbers.compare import Comparison
from graphir.verification.pairs.sides import Sides
from graphir.verification.running.bench import Asked, Bench
from graphir.verification.running.layouts import order_inside
from graphir.verification.running.slices import HELD_OF_EACH
from graphir.verification.verdict import Verdict

from .known import known_values
from .parts import CutCandidate, NotRun, Part, Walks, chooses, is_size, typed


def compare_given_choices(bench: Bench, sides: Sides, asked: Sequence[Asked]) -> dict[Value, Comparison] | NotRun:
    """Return the comparisons of what stands around choices, and of the values that are asked for, all of which pass;
    else why that shows nothing."""
    known, graphs = known_values(bench, sides), sides.both
    ends = {known.values[one.source]: one.name for one in asked if one.source in known.values}
    names = known.tensors()
    pairs = {
        value: other for value in names if not is_size(other := known.pairs[value])
        and (value in ends or known_order(value.shape, other.shape) is not None)
    }  # fmt: skip
    partners = {other: value for value, other in pairs.items()}
    walks = Walks(graphs[0]), Walks(graphs[1])
    borders: set[Value] = set()
    for value, other in pairs.items():
        ours, left = walks[0].region(value, pairs.__contains__)
        theirs, right = walks[1].region(other, partners.__contains__)
        if any(chooses(node, DecisionTrait.STEPS) for node in (*left, *right)):
            borders |= {value, *(pairs.keys() & ours), *(partners[edge] for edge in partners.keys() & theirs)}
    has_all = len(ends) == len(asked) and ends.keys() <= pairs.keys()
    if not (borders and has_all) or any(names[end] != name for end, name in ends.items()):
        return NotRun("nothing is chosen, or an output has no counterpart")
    arrays = known.expected(value for value in pairs if value in borders or value in ends)
    # A name of the reference may be that of several values: one of another shape is no border.
    arrays = {value: array for value, array in arrays.items()
              if value in ends or known_order(array.shape, pairs[value].shape) is not None}  # fmt: skip
    if HELD_OF_EACH * sum(array.nbytes for array in arrays.values()) > bench.candidate.memory:
        return NotRun("there is no room for what stands around choices")
    borders = {value for value in borders & arrays.keys() if arrays[value].dtype.kind in "fiubV"}
    fed = {
        names[value]: typed(array.transpose(channel_order(array.shape, shape) or range(array.ndim)), pairs[value])
        for value, array in arrays.items() if value in borders and (shape := pairs[value].shape) is not None
    }  # fmt: skip
    cut = CutCandidate(bench.candidate, graphs[1], bench.feeds, optimize=True)
    try:
        results = cut.run(fed, list(dict.fromkeys(map(names.__getitem__, arrays))))
    except GraphirError as error:
        return NotRun.after(error)
    if any(order_inside(results[name], arrays[end]) for end, name in ends.items()):
        return NotRun("an output has its axes in another order")
    compared = {}
    others = {pairs[border] for border in borders}
    for value, array in arrays.items():
        nodes = walks[0].region(value, borders.__contains__)[1], walks[1].region(pairs[value], others.__contains__)[1]
        part, given = Part(value, pairs[value], nodes), (array, results[names[value]])
        result = part.compared(known.names[value], given, bench.limits, by_kernels=False)
        if not result.verdict.passes or (part.is_exact and result.verdict is not Verdict.IDENTICAL):
            return NotRun(f"{result.name} differs")
        compared[value] = result
    return compared
