"""Compiled bridges: types in, C call, status out. No policy."""
