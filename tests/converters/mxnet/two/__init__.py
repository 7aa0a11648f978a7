"""What MXNet 2.0 wrote and computed, and tests of it."""
