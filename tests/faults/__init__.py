"""The judge of `graphir verify`: planted faults that it has to find and name, and rewrites that it must not blame."""
