"""Models in 8 and 4 bits by onnxruntime.quantization: calibration data, errors by layer, what stays float, a report."""
