"""Execution of plans: segments, memory layout, budgets."""
