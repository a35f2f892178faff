"""Elements of 24 bytes that show when one is torn."""

import numpy as np

ITEM = np.dtype([("number", "<u4"), ("rest", "u1", 20)])


def items(*numbers):
    """Elements of these numbers."""
    made = np.zeros(len(numbers), ITEM)
    made["number"] = numbers
    made["rest"] = np.asarray(numbers, np.uint32)[:, None] % 256
    return made


def numbers(elements):
    """Their numbers, after a look at the rest."""
    assert (elements["rest"] == elements["number"].astype(np.uint8)[:, None]).all()
    return elements["number"].tolist()
