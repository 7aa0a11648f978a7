"""Random MXNet symbols against live MXNet."""
