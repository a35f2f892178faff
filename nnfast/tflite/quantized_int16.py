"""Quantized forms of operators on int16 tensors."""
