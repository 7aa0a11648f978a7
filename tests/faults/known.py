"""What verify does not find, name or acquit yet, by network and kind, each with the reason.

An entry that is no gap any more is an error where all faults are run (`GRAPHIR_ALL_FAULTS=1`): the list only shrinks.
"""

from __future__ import annotations

FUSED = "behind onnxruntime's optimiser: a FusedGemm or FusedConv is no pair of the layers that it was made of"
TRAINING = "behind onnxruntime's optimiser: a normalization in training mode needs the rank of what a FusedGemm gives"
GAPS: dict[tuple[str, str], str] = {
    ("mlp", "BatchNormalization in training mode"): TRAINING,
    ("mlp", "Elu: another alpha"): FUSED,
    ("mlp", "HardSigmoid for Sigmoid"): FUSED,
    ("mlp", "Gemm: square weights not transposed"): FUSED,
    ("mobile", "pads in the order top, bottom, left, right"): FUSED,
}

__all__ = ["GAPS"]
