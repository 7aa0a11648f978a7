"""From TensorFlow's records to a graph."""
