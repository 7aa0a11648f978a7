"""Rows of ONNX operators that are written for MXNet, one file a family: ROWS, and REFUSED with the error's text."""
