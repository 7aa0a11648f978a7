"""Shape and type inference: the operators' rules, run forwards and backwards until nothing more follows."""

from .engine import Inference, infer, infer_graph, infer_types
from .rules import infer_outputs, infer_values

__all__ = ["Inference", "infer", "infer_graph", "infer_outputs", "infer_types", "infer_values"]
