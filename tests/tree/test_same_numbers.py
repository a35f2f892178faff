"""Tests of a module share its random generator, but not what others have drawn (tests/conftest.py)."""

import numpy as np
import pytest

RANDOM = np.random.default_rng(4)


@pytest.mark.parametrize("turn", [1, 2])
def test_every_test_draws_from_the_beginning(turn):
    assert RANDOM.random() == np.random.default_rng(4).random()
