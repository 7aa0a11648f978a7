"""From a graph to ONNX's records."""
