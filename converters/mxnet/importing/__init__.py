"""From MXNet's records to a graph."""
