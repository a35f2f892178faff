"""Alignment of tensors in memory."""

LINE = 64
"""Bytes of a cache line: every tensor that the driver places begins at a multiple of it."""


def align(size):
    """The next multiple of LINE."""
    return (size + LINE - 1) // LINE * LINE
