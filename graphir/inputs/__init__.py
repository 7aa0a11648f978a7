"""What two models are fed with: sets of inputs, drawn and given, and what they reached."""
