"""graphir's own files: the structure as JSON, the weights beside it as safetensors. FORMAT.md is the specification."""
