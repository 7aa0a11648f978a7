"""Operators of TensorFlow against live TensorFlow."""
