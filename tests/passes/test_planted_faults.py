"""Rules with a fault in them are caught by the comparison that the tests of the rules make, the right ones are not."""

from __future__ import annotations

import numpy as np
import pytest

from graphir.graph import Graph, Node
from graphir.ops import activation as act
from graphir.ops import normalization as norm
from graphir.ops.base import Operator
from graphir.passes.fusions import activations, norms
from graphir.passes.fusions.fusion import Fusion, Operands, rules
from graphir.passes.patterns import Names, Pattern
from graphir.passes.rewrite import apply_rules
from graphir.types import DType
from tests.passes.spelled import TOLERANCE, Spelling, assert_equal, numbers, run, spelled
from tests.passes.test_fusions_activations import SPELLINGS
from tests.passes.test_fusions_norms import EPSILON, rms, standard

SHAPE = (4, 3)
SIX = activations._scaled(activations.SIX, 1 / 6)
BY_NAME = dict(reversed(SPELLINGS))  # the first of each name
# The spelling, the pattern of its rule, the operator that is right, and a faulty one.
FAULTS: list[tuple[Spelling, Pattern, Operator, Operator]] = [
    (BY_NAME["Gelu"], activations.GELU, act.Gelu(), act.Gelu(act.Approximation.TANH)),
    (SPELLINGS[6][1], activations.GELU_BY_TANH, act.Gelu(act.Approximation.TANH), act.Gelu()),
    (BY_NAME["HardSigmoid"], SIX, activations.SIXTH, act.HardSigmoid(alpha=0.1667, beta=0.5)),
    (BY_NAME["HardSigmoid"], SIX, activations.SIXTH, act.HardSigmoid(alpha=1 / 6, beta=0.501)),
    (BY_NAME["HardSwish"], activations.HARD_SWISH, act.HardSwish(), act.Mish()),
    (BY_NAME["Mish"], activations.MISH, act.Mish(), act.HardSwish()),
    (BY_NAME["LeakyRelu"], activations.LEAKY, act.LeakyRelu(alpha=0.25), act.LeakyRelu(alpha=0.2501)),
    (BY_NAME["Sigmoid"], activations.SIGMOID, act.Sigmoid(), act.HardSigmoid()),
    (BY_NAME["Softsign"], activations.SOFTSIGN, act.Softsign(), act.Tanh()),
    (BY_NAME["Softmax"], activations.SOFTMAX, act.Softmax(axis=-1), act.Softmax(axis=0)),
    (BY_NAME["LogSoftmax"], activations.LOG_SOFTMAX, act.LogSoftmax(axis=-1), act.LogSoftmax(axis=0)),
    (standard, norms.STANDARD, norm.LayerNormalization(epsilon=EPSILON), norm.LayerNormalization(epsilon=2 * EPSILON)),
    (standard, norms.STANDARD, norm.LayerNormalization(epsilon=EPSILON), norm.RMSNormalization(epsilon=EPSILON)),
    (rms, norms.BY_MEAN_SQUARE, norm.RMSNormalization(epsilon=EPSILON), norm.RMSNormalization(epsilon=2 * EPSILON)),
    (rms, norms.BY_MEAN_SQUARE, norm.RMSNormalization(epsilon=EPSILON), norm.LayerNormalization(epsilon=EPSILON)),
]


def compare(spelling: Spelling, pattern: Pattern, op: Operator) -> None:
    """Raise AssertionError if a rule that puts the operator in the place of the pattern changes numbers."""

    def build(graph: Graph, node: Node, names: Names) -> tuple[Operator, Operands]:
        scale = [graph.constant(np.ones(SHAPE[-1:], np.float32))] if "epsilon" in names else []
        return op, (names["x"], *scale)

    graph = spelled(spelling, SHAPE)
    feeds = {"x": numbers(SHAPE, DType.FLOAT32, special=False)}
    before = run(graph, feeds)
    assert apply_rules(graph, rules=rules(Fusion("planted", pattern, build)))
    assert_equal(before, run(graph, feeds), TOLERANCE[DType.FLOAT32])


@pytest.mark.parametrize(("spelling", "pattern", "right", "faulty"), FAULTS)
def test_a_fault_in_a_rule_is_caught(spelling: Spelling, pattern: Pattern, right: Operator, faulty: Operator) -> None:
    compare(spelling, pattern, right)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        compare(spelling, pattern, faulty)
