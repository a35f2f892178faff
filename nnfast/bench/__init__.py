"""Measuring: the machine's limits, models beside each other, operations against the limits."""
