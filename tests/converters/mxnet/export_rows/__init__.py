"""Rows of ONNX operators that are written for MXNet, one file a family: ROWS, and where there are such

- REFUSED, with the error's text;
- BATCHES: by operator the inputs whose first axis, or BATCH_AXIS, may be of open size, in all rows of such inputs with
  several axes but those that KEPT_CLOSED names.
"""
