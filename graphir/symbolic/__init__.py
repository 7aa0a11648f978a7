"""Sizes as numbers, as expressions over named sizes, and unknown."""
