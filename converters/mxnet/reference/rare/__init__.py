"""The meaning in numpy of the operators that `importing.rare` imports."""
