"""Models at other instruction levels than the one in force."""

from contextlib import contextmanager

from .._native import kernels


@contextmanager
def at_level(name):
    """What is prepared inside of the block uses this level, or the highest below it that the machine has."""
    before = kernels.level()
    kernels.set_level(name)
    try:
        yield
    finally:
        kernels.set_level(before)
