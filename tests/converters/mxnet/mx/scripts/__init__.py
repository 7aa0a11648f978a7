"""Prediction scripts in the style of public ones, which print the same under live MXNet and under the facade."""
