"""The kinds of decisions that a conversion can take, each with a sentence that says what it means."""

from __future__ import annotations

from enum import StrEnum

from graphir.structure.record import record

from .safety.arguments import expect


class DecisionKind(StrEnum):
    """What a decision is about. A member is its text, as reports and files have it; `meaning` explains it."""

    meaning: str

    def __new__(cls, text: str, meaning: str = "") -> DecisionKind:
        """Return a member of this text; without a meaning, the one that there is."""
        kind = str.__new__(cls, text)
        kind._value_ = text
        kind.meaning = meaning
        return kind

    ADAPTIVE_POOLING = (
        "adaptive pooling",
        "Windows whose sizes follow from the data's size were fixed for that size, or written as matrix products.",
    )
    ALL_ITERATIONS_COMPUTED = (
        "all iterations computed",
        "When a loop ends is known at run time only: all iterations are computed, and Where keeps the results.",
    )
    ANCHORS = "anchors", "Boxes that follow from the size of the picture were computed for it and are constants."
    ANNOTATION_DROPPED = "annotation dropped", "Annotations that change nothing of what is computed were left out."
    AVERAGE_POOL_DIVISOR = (
        "average-pool divisor",
        "What an average pooling divides by was not stated: whether padding counts is its framework's default.",
    )
    AXES = "axes", "Axes that are computed at run time were taken to be such as the target's operator takes them."
    BACKGROUND_CLASS = (
        "background class",
        "Which class is the background is another than the attribute says, as the framework computes it.",
    )
    BATCH = "batch", "The first sizes of several inputs are taken to be one batch."
    BATCH_NORMALIZATION = "batch normalization", "Statistics that a training mode would compute are the ones given."
    BOTH_BRANCHES_COMPUTED = (
        "both branches computed",
        "A condition is known at run time only: both branches are computed, and Where selects.",
    )
    BROADCAST = "broadcast", "Operands are taken to have the same size where the framework would repeat one of them."
    CHECK = "check", "What the source checks when it runs is not checked by the result."
    CHECKPOINT = "checkpoint", "Which file of parameters was taken, where there were several or no name decided."
    COMPOSITION = "composition", "An operator became several: equal in exact arithmetic, not to the last digits."
    CONDITIONAL = "conditional", "The condition of a branch is known: only the branch that runs was imported."
    CONSTANT_INPUT = "constant input", "An input was bound to a value, on request, and is none any more."
    CONSTANT_SIZE = "constant size", "The open sizes of a constant follow from what uses it."
    CONSTANTS_COMPUTED = (
        "constants computed",
        "Floats that depend on constants alone were computed ahead, by the runtime that is named.",
    )
    CONTROL_DEPENDENCIES_DROPPED = "control dependencies dropped", "Nodes that others only wait for are not run."
    DEAD_BRANCH = "dead branch", "A branch that never runs does not fit the shapes: the other one stands in for it."
    DECLARED_SHAPE = "declared shape", "The model declares another shape than follows from its nodes."
    DECONVOLUTION_TARGET = "deconvolution target", "The size that a transposed convolution is to give became padding."
    DEFAULT = "default", "An attribute that is not stated has the default of its framework, which others do not share."
    DEFAULT_TAKEN = "default taken", "An input that has a default value is that value from now on."
    DEFORMABLE_BORDER = "deformable border", "Places beyond the last element read it, as the framework computes it."
    DILATED_DECONVOLUTION = (
        "dilated deconvolution",
        "A transposed convolution with strides and dilations runs on some builds of the framework only.",
    )
    DILATION = "dilation", "Nodes that spread the data out and bring them back are one convolution with dilations."
    DROPOUT = "dropout", "Elements are dropped at run time, as in training, because the model says so."
    DROPOUT_REMOVED = "dropout removed", "A dropout was left out: it does nothing at inference."
    DTYPE = "dtype", "What is computed or held in another element type than the source states, and what that rounds."
    EMPTY_MEAN = "empty mean", "The mean over an axis without elements is no number in one framework, 0 in the other."
    EMPTY_REGION = "empty region", "A region without width or height is treated otherwise by the two frameworks."
    EXPLICIT_PADDING = (
        "explicit padding",
        "SAME or the size of a result became numbers, which hold for this size of the data or pad one side more.",
    )
    FIXED_BETA = "fixed beta", "A batch normalization has no beta: it is 0, in training too."
    FIXED_GAMMA = "fixed gamma", "The stored gamma of a batch normalization is not used: it is 1."
    FIXED_STATISTICS = "fixed statistics", "Training leaves the statistics of a batch normalization as they are."
    FLOAT16_PRODUCT = "float16 product", "A product of float16 runs on a GPU only."
    FLOAT16_RECURRENT_LAYER = "float16 recurrent layer", "A recurrent layer of float16 runs on a GPU only."
    FOLDED_SCALE = (
        "folded scale",
        "What scales and shifts channels was multiplied into weights and bias, which rounds otherwise.",
    )
    FUNCTION_INLINED = "function inlined", "A function of the model, or what a runtime fused, was replaced by its body."
    FUNCTIONS_INLINED = "functions inlined", "Calls of functions were replaced by their bodies."
    FUSED = "fused", "Nodes became one operator, or fewer, on request: equal in exact arithmetic, rounded otherwise."
    GROUPS = "groups", "How many channels a filter reaches over is not known: it was taken to reach over all."
    HALF_PRECISION = (
        "half precision",
        "The model was converted to float16 or bfloat16, on request: how much of it, and what was measured.",
    )
    INDEX_MODE = "index mode", "What happens to an index outside the axis."
    INPUT_DTYPE = (
        "input dtype",
        "Nothing states the element type of an input: it is the one that its framework would bind.",
    )
    INPUT_SHAPE = (
        "input shape",
        "Nothing states the shape of an input: sizes that stayed open or were chosen to fit the weights.",
    )
    INPUT_WITH_A_DEFAULT = "input with a default", "Inputs that have their value in the file became parameters."
    INPUTS_CHOSEN = "inputs chosen", "The model was cut at a value, which became an input, on request."
    INPUTS_FED = "inputs fed", "What an iterator gives is fed as inputs."
    INTEGER_DATA = (
        "integer data",
        "Integers go through another element type, or are divided or rounded as the source's framework does it.",
    )
    INTEGER_PRODUCT = (
        "integer product",
        "A product of integers is computed in a wider or a floating type, exact up to the bound that is named.",
    )
    KEPT_FLOAT32 = (
        "kept float32",
        "A layer of a model that was converted to float16 or bfloat16 stays float32, for its range or by name.",
    )
    LABEL_INPUT_REMOVED = (
        "label input removed",
        "An input for labels was left out: no result at inference depends on it.",
    )
    LAYOUT = "layout", "An input or output has another order of axes than in the source, on request."
    LEGACY_ATTRIBUTE = "legacy attribute", "An attribute of an old release was taken in its meaning of then."
    LIST_LENGTH = "list length", "A list grows to the length that a loop writes."
    LOOP = "loop", "A loop is taken to run at least once."
    LOOP_CONDITION = "loop condition", "A loop states no condition at its start, but that of its body ends it."
    LOSS_HEAD = "loss head", "The head of a training loss gives what it gives at inference."
    LOSS_HEAD_KEPT = "loss head kept", "A head that computes a loss was kept as an output."
    LOSS_HEAD_REMOVED = "loss head removed", "A head that computes a loss was left out."
    MASKED_SOFTMAX = (
        "masked softmax",
        "Where a mask hides everything the result is that of the framework's newer releases.",
    )
    NO_KERNEL = (
        "no kernel",
        "No onnxruntime that is known here has a kernel for a node, or opens the requested opset.",
    )
    NO_SUPPRESSION = "no suppression", "A detection operator leaves the data as they are."
    NODE_ORDER = "node order", "Nodes were sorted: the file uses values before it makes them."
    NP_SHAPE = "np_shape", "The symbol has to be run under MXNet's numpy shapes."
    OPSET = "opset", "The opset that was written is another than the model's or the usual one."
    ORDER = "order", "Results that may come in any order come sorted."
    ORDER_OF_EQUAL_ELEMENTS = "order of equal elements", "Which of equal elements comes first is up to the target."
    ORDER_OF_INPUTS = "order of inputs", "The target lists the inputs in another order: bind them by name."
    OTHER = "other", "A decision of a kind that this release does not know, with its kind in front of its text."
    OUTPUT_NAME = "output name", "An output could not be called as it would be elsewhere."
    PADDING = "padding", "How a padding is computed where frameworks, or a kernel and its definition, disagree."
    PARAMETER_NAMES = "parameter names", "Parameters were matched to the names of the network by kind, shape and order."
    PLACEMENT_DROPPED = "placement dropped", "On which devices nodes run was left out."
    PLACES = "places", "Places that no index names are zeros, where the framework leaves them undefined."
    PLUGIN = "plugin", "An operator was read as a plugin of the user says, which nobody else has checked."
    POOLING_CONVENTION = (
        "pooling convention",
        "How many windows a pooling has is counted by another rule than the target's, and was expressed in it.",
    )
    PRECISION = (
        "precision",
        "A composition or a wider type loses digits where the source does not, or the other way round.",
    )
    PRINT = "print", "What the source prints is not printed."
    PROJECTION = "projection", "The projection of a recurrent layer was multiplied into its recurrent weights."
    QUANTIZATION = "quantization", "How quantized numbers are rounded, or what their scales are."
    RANDOM_NUMBERS = "random numbers", "Numbers are drawn by another generator: of the same distribution, but others."
    RANDOM_SLOPE = "random slope", "A slope that is random in training is its mean."
    RANGE = "range", "The start and step of a range were rounded as its framework rounds them."
    RECURRENT_LOOP = (
        "recurrent loop",
        "A loop became a recurrent layer, or could not because of its element type; and what was taken for granted.",
    )
    REGION_OF_NO_IMAGE = (
        "region of no image",
        "A region that names no picture gives zeros, where the framework leaves it undefined.",
    )
    RESIZE = (
        "resize",
        "How a resize computes places or results where frameworks differ, or the size that it was resolved for.",
    )
    ROUNDING = (
        "rounding",
        "Halves, places or integers are rounded otherwise than in the source, or as in it and not as documented.",
    )
    ROWS_FILLED = "rows filled", "Rows behind the last iteration are zeros, where the framework leaves them undefined."
    RUNNING_PRODUCT = (
        "running product",
        "A running product is multiplied in another order: floats may differ in the last digits.",
    )
    RUNTIME = "runtime", "A node needs a newer onnxruntime than the oldest that files are written for."
    SCALAR = "scalar", "A number was converted, or made its operand another element type, as its framework does it."
    SCORES = "scores", "A threshold that is computed is taken to be in its usual range."
    SEQUENCE_LENGTH = (
        "sequence length",
        "Lengths of sequences are honoured, which not every build of the framework does.",
    )
    SHAPE_NOT_USED = "shape not used", "A shape was given for an input that the chosen outputs do not need."
    SHIFT = "shift", "A shift of integers is computed by a power of two."
    SIZE_BOUND_BY_WEIGHTS = "size bound by weights", "A size that was open is the one that the weights allow."
    SIZES = "sizes", "Sizes that are computed are taken to be 0 or more."
    SOFTMAX_AXIS = "softmax axis", "Along which axes a softmax goes where the framework and its documentation disagree."
    SPARSE_WEIGHTS = "sparse weights", "A sparse tensor was made dense."
    SPECIAL_VALUES = (
        "special values",
        "NaN, infinities or other values at the edge give something else than in the source; `--strict` keeps it.",
    )
    SQUEEZE = "squeeze", "Which axes are dropped where sizes are open."
    STATE = "state", "What the model keeps from run to run is an input and an output, to be fed to the next run."
    TARGETS = "targets", "Operands are taken to be in their usual range; for others the frameworks differ."
    TRAINING = "training", "A layer that is called as in training acts as at inference."
    TRAINING_DROPPED = "training dropped", "What describes the training of a model was left out."
    TRAINING_FLAG = "training flag", "Whether the model is trained is taken to be as stated, at inference false."
    TRANSPOSED_CONVOLUTION = (
        "transposed convolution",
        "The size of a transposed convolution's result is computed by the model, which cuts it.",
    )
    UNDEFINED_ELEMENTS = (
        "undefined elements",
        "Elements that the framework leaves undefined are zeros, or what they are meant to be.",
    )
    UNKNOWN_ATTRIBUTE = "unknown attribute", "An attribute that the operator does not have was ignored."
    UNUSED_INPUT = "unused input", "An input on which nothing depends stays, or cannot be written."
    UNUSED_INPUTS_REMOVED = "unused inputs removed", "Inputs on which no output depends were left out."
    UNUSED_MASK = "unused mask", "A mask that a call states is not used, as in the framework's newer releases."
    UNUSED_PARAMETERS = "unused parameters", "Parameters of the file that the network does not have were left out."
    UPGRADE = "upgrade", "A model of an old release was read by the rule that is named."
    UPSAMPLING = "upsampling", "A value is enlarged by a factor to the size of another at run time."
    WEIGHT_ORDER = "weight order", "Weights keep their plain order where the framework has one of its own."
    WEIGHTS = "weights", "Weights that are computed are taken to be present, one for each element."


@record
class Decision:
    """A choice of a conversion that can change numbers or shapes: its kind, its node (or value), and why."""

    kind: DecisionKind
    node: str
    text: str

    def __post_init__(self) -> None:
        expect(self.kind, DecisionKind, "the kind of a decision", "a DecisionKind, as in DecisionKind.PADDING")

    def __str__(self) -> str:
        return f"[{self.kind}] {self.node}: {self.text}"

    @classmethod
    def read(cls, kind: str, node: str, text: str) -> Decision:
        """Return a decision as a file has it. A kind of another release or program is `other`, and stands in front of
        the text."""
        try:
            return cls(DecisionKind(kind), node, text)
        except ValueError:
            return cls(DecisionKind.OTHER, node, f"{kind}: {text}")
