"""From a ModelProto to a graph."""
