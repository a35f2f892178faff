"""Runs operations by native kernels. Without it every operation is computed by its definition in numpy."""

WHY = "kernels are many times as fast as the definitions in numpy"
