"""Sizes by which work is cut, as a test wants them."""

from nnfast._native import kernels


def put_sizes(patch, **changed):
    """Plan with these sizes (csrc/include/nnf/tuning.inc) in place of the machine's. patch: a MonkeyPatch."""
    usual = kernels.sizes
    patch.setattr(kernels, "sizes", lambda: {**usual(), **changed})
