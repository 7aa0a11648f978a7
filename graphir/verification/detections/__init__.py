"""Detections compared as sets, with decisions that rounding can turn."""
