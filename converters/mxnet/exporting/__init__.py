"""From a graph to MXNet's records."""
