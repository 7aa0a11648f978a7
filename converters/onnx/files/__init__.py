"""ONNX's files: reading with the weights left in place, writing as a stream."""
