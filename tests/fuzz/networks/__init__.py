"""Random MXNet networks against live MXNet."""
