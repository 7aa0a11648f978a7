"""The judge of `graphir verify`: planted faults that it has to find and to name, and rewrites that it must not blame."""
