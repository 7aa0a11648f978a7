"""Well-known networks, built on graphir's public API, and small real checkpoints with their origin."""
