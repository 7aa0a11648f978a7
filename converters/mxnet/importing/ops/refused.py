"""Operators of MXNet that no graph says, each with the reason, by canonical name."""

from __future__ import annotations

from collections.abc import Mapping

from graphir.converters.mxnet.schema.operators import canonical_name
from graphir.converters.mxnet.schema.registry import changed_operators
from graphir.converters.mxnet.schema.upgrade import FIRST_OF_TWO

NOT_CONVERTED = "graphir cannot convert this operator of MXNet yet"
NOT_IN_MXNET = "neither MXNet 1.9.1 nor 2.0 has this operator: it comes from a build of one's own; see docs/plugins.md"
OTHERWISE = "MXNet 2.0 computes something else under this name of MXNet 1.9.1, which graphir cannot convert yet"

TRAINING_ONLY = "training only: no trained model needs its result; cut it off with --outputs or --inputs"
ANOTHER_ATTENTION = (
    "MXNet 2.0 makes it of a whole attention when it optimizes a network for oneDNN; export the network before that"
)
UNWRITTEN = (
    "MXNet 2.0 writes the diagonal of its result only: in a graph all other elements are memory nothing has written"
)

UNTIL_DIFFERENT = "it draws until all numbers of a row differ, and tells how often: no fixed number of draws does"
CODE_OF_A_CLASS = (
    "what it computes stands in a Python class that the file does not hold; a plugin can say it (docs/plugins.md)"
)
CALIBRATION = "it chooses ranges from histograms while a network is quantized; no network that is run holds it"
CODE_OF_A_PROCESS = "it runs code in the memory of the process that made the symbol; the file does not hold that code"
GENERAL_EIGENVALUES = (
    "eigenvalues of matrices that are not symmetric come in the order, and vectors with the signs, that LAPACK's "
    "iteration finds them in; of symmetric matrices take numpy.linalg.eigh, whose order is fixed"
)
GRAPH_SAMPLING = "it works on compressed sparse matrices of graphs, which ONNX has no tensors for"
IMPERATIVE = "MXNet runs it on arrays only: it tells no element type of its result, and no symbol with it can be bound"
IMAGE_FILE = "it reads the bytes of an image file; decode the image before the model and feed it pixels"
WITHOUT_ATTRIBUTES = "MXNet 2.0 writes it without its attributes, and reads its own file no more"
ROW_SPARSE = "it is defined for row-sparse arrays only, which MXNet has no network give and ONNX has no tensors for"

NO_GRAPH = "MXNet 2.0 itself builds no graph with it: its gradient is registered with another number of inputs"

NO_WORKING_KERNEL = (
    "MXNet 1.9.1 ends with a segmentation fault when it computes it alone; only its quantized RNN takes its result"
)
QUANTIZED_RECURRENCE = (
    "oneDNN rounds the state to uint8 in each step, which ONNX's layers cannot say; quantize the model without its RNN "
    "(excluded_sym_names)"
)

# Steps of optimizers and what they need of gradients, targets of detectors, augmentation of images.
TRAINING = (
    *("_adamw_update", "_contrib_group_adagrad_update", "_mp_adamw_update", "_multi_adamw_update"),
    *("_multi_lamb_update", "_multi_mp_adamw_update", "_multi_mp_lamb_update", "_sparse_adagrad_update"),
    *("adam_update", "ftml_update", "ftrl_update", "lamb_update_phase1", "lamb_update_phase2", "mp_lamb_update_phase1"),
    *("mp_lamb_update_phase2", "mp_nag_mom_update", "mp_sgd_mom_update", "mp_sgd_update", "multi_mp_sgd_mom_update"),
    *("multi_mp_sgd_update", "multi_sgd_mom_update", "multi_sgd_update", "nag_mom_update"),
    *("preloaded_multi_mp_sgd_mom_update", "preloaded_multi_mp_sgd_update", "preloaded_multi_sgd_mom_update"),
    *("preloaded_multi_sgd_update", "rmsprop_update", "rmspropalex_update", "sgd_mom_update", "sgd_update"),
    *("signsgd_update", "signum_update", "_NoGradient", "multi_lars", "reset_arrays"),
    *("_contrib_MultiBoxTarget", "_contrib_bipartite_matching", "_contrib_box_encode", "_contrib_hawkesll"),
    *("_image_random_brightness", "_image_random_color_jitter", "_image_random_contrast", "_image_random_crop"),
    *("_image_random_flip_left_right", "_image_random_flip_top_bottom", "_image_random_hue", "_image_random_lighting"),
    *("_image_random_resized_crop", "_image_random_saturation"),
)

REASONS: Mapping[str, str] = {
    **dict.fromkeys(TRAINING, TRAINING_ONLY),
    "_CachedOp": CODE_OF_A_PROCESS,
    "_CachedOpThreadSafe": CODE_OF_A_PROCESS,
    "_contrib_calibrate_entropy": CALIBRATION,
    "_contrib_dgl_adjacency": GRAPH_SAMPLING,
    "_contrib_dgl_csr_neighbor_non_uniform_sample": GRAPH_SAMPLING,
    "_contrib_dgl_csr_neighbor_uniform_sample": GRAPH_SAMPLING,
    "_contrib_dgl_graph_compact": GRAPH_SAMPLING,
    "_contrib_dgl_subgraph": GRAPH_SAMPLING,
    "_contrib_edge_id": GRAPH_SAMPLING,
    "_contrib_quantize_asym": NO_WORKING_KERNEL,
    "_contrib_quantized_rnn": QUANTIZED_RECURRENCE,
    "_CustomFunction": CODE_OF_A_PROCESS,
    "_cvimdecode": IMAGE_FILE,
    "_cvimread": IMAGE_FILE,
    "_imdecode": IMAGE_FILE,
    "_Native": CODE_OF_A_PROCESS,
    "_NDArray": CODE_OF_A_PROCESS,
    "_npi_bitwise_left_shift_scalar": NO_GRAPH,
    "_npi_bitwise_right_shift_scalar": NO_GRAPH,
    "_npi_eig": GENERAL_EIGENVALUES,
    "_npi_eigvals": GENERAL_EIGENVALUES,
    "_npi_fill_diagonal": UNWRITTEN,
    "_npi_rbitwise_left_shift_scalar": NO_GRAPH,
    "_npi_rbitwise_right_shift_scalar": NO_GRAPH,
    "_npi_share_memory": "it asks whether two arrays lie in the same memory of MXNet's process; a graph has no memory",
    "_npx_cond": WITHOUT_ATTRIBUTES,
    "_npx_foreach": WITHOUT_ATTRIBUTES,
    "_npx_while_loop": WITHOUT_ATTRIBUTES,
    "_onehot_encode": IMPERATIVE,
    "_sample_unique_zipfian": UNTIL_DIFFERENT,
    "_set_value": IMPERATIVE,
    "_sg_onednn_selfatt_valatt": ANOTHER_ATTENTION,
    "_square_sum": ROW_SPARSE,
    "Custom": CODE_OF_A_CLASS,
    "fill_element_0index": IMPERATIVE,
}


def means_something_else(operator: str, version: int) -> bool:
    """Return whether the name stands for another operator in a file of that version of MXNet than in those of 1.9.1."""
    return operator in changed_operators() and version >= FIRST_OF_TWO


def why_not(operator: str, version: int) -> str:
    """Why an operator of a file of that version is not imported."""
    if means_something_else(operator, version):
        return OTHERWISE
    name = canonical_name(operator)
    return NOT_IN_MXNET if name is None else REASONS.get(name, NOT_CONVERTED)
