"""MXNet's files: symbols, parameters, checkpoints; plain records, no graph."""
