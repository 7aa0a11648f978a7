"""The kinds of faults, by name."""

from __future__ import annotations

from . import activations, normalization, ports, recurrent, repeated, shapes, slips, special, weights, windows
from .edit import Edit, Fault

FAMILIES = {
    "windows": windows.FAULTS,
    "weights": weights.FAULTS,
    "normalization and attention": normalization.FAULTS,
    "activations and arithmetic": activations.FAULTS,
    "shapes and wiring": shapes.FAULTS,
    "recurrent": recurrent.FAULTS,
    "detection, types, control": special.FAULTS,
    "slips of porting": slips.FAULTS,
    "repeated and misplaced": repeated.FAULTS,
    "ports": ports.FAULTS,
}
FAULTS: dict[str, Fault] = {fault.name: fault for family in FAMILIES.values() for fault in family}

__all__ = ["FAMILIES", "FAULTS", "Edit", "Fault"]
