"""Results compared as numbers, and what rounding explains of a difference."""
