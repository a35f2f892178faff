"""Builders, cases and damage of `.tflite` files."""
