"""What of a TensorFlow model may be run by live TensorFlow: what has a meaning here, and what only holds it together.

None of these reads or writes a file, opens a connection, starts a process or calls Python. State they have (variables,
stacks, lists of tensors, random numbers) is the process's own.
"""

from __future__ import annotations

from graphir.converters.tensorflow.importing.ops import import_table
from graphir.converters.tensorflow.importing.state_writes import READS, WRITES
from graphir.converters.tensorflow.keras.activations import LAYERS_AS_ACTIVATIONS, OPERATORS, PLAIN
from graphir.converters.tensorflow.keras.history import CLASSES
from graphir.converters.tensorflow.keras.layers import LAYERS
from graphir.converters.tensorflow.keras.operations import OPERATIONS

STRUCTURE = frozenset({
    "AsString", "Assert", "Case", "ControlTrigger", "EmptyTensorList", "Enter", "Exit", "If",
    "IsVariableInitialized", "LoopCond", "Merge", "NextIteration", "NoOp", "PartitionedCall", "PrintV2",
    "ReadVariableOp", "RefEnter", "RefExit", "RefIdentity", "RefMerge", "RefNextIteration", "RefSwitch",
    "StatefulPartitionedCall", "StatelessCase", "StatelessIf", "StatelessWhile", "StringFormat", "Switch",
    "TensorArrayConcatV2", "TensorArrayConcatV3", "TensorArrayGatherV2", "TensorArrayGatherV3", "TensorArrayReadV2",
    "TensorArrayReadV3", "TensorArrayScatterV2", "TensorArrayScatterV3", "TensorArraySizeV2", "TensorArraySizeV3",
    "TensorArrayV2", "TensorArrayV3", "TensorArrayWriteV2", "TensorArrayWriteV3", "TensorListElementShape",
    "TensorListSplit", "VarHandleOp", "VarIsInitializedOp", "Variable", "VariableShape", "VariableV2", "While",
    "_SwitchN",
})  # fmt: skip
ACTIVATIONS = (
    "linear", "silu", "swish", "hard_sigmoid", "hard_silu", "hard_swish", "log_sigmoid", "tanh_shrink", "hard_tanh",
)  # fmt: skip
# What stands in Keras's configurations beside layers.
PARTS = frozenset({
    "Sequential", "Functional", "Model", "InputLayer", "InputSpec", "TensorShape", "DTypePolicy", "Policy",
    "QuantizedDTypePolicy", "LSTMCell", "GRUCell", "SimpleRNNCell", "StackedRNNCells", "__keras_tensor__",
    "__tuple__", "__tensor__", "__numpy__", "__slice__", "__ellipsis__", "__dtype__", "__complex__", "slice",
    "Constant", "GlorotNormal", "GlorotUniform", "HeNormal", "HeUniform", "Identity", "IdentityInitializer",
    "LecunNormal", "LecunUniform", "Ones", "Orthogonal", "OrthogonalInitializer", "RandomNormal", "RandomUniform",
    "TruncatedNormal", "VarianceScaling", "Zeros", "L1", "L2", "L1L2", "OrthogonalRegularizer", "MaxNorm",
    "MinMaxNorm", "NonNeg", "UnitNorm", "RadialConstraint", "SeedGenerator",
})  # fmt: skip


def operators() -> list[str]:
    """Return the operators that may run."""
    return sorted(STRUCTURE | READS | WRITES.keys() | import_table().keys())


def keras_classes() -> list[str]:
    """Return the classes that a Keras model may have in its configuration."""
    return sorted(PARTS | LAYERS.keys() | CLASSES.keys() | {name for name in OPERATIONS if name[:1].isupper()})


def keras_functions() -> list[str]:
    """Return the functions that a Keras model may name: activations, and what version 2 has of TensorFlow's."""
    names = {*PLAIN, *OPERATORS, *LAYERS_AS_ACTIVATIONS, *ACTIVATIONS}
    return sorted(names | {name for name in OPERATIONS if not name[:1].isupper()})
