"""Fixtures of the tests of `nnfast batch`."""

import pytest

from helpers.batch_data import copying, save_pictures


@pytest.fixture
def model(tmp_path):
    """A file with a model that gives its input back, flat."""
    (tmp_path / "m.tflite").write_bytes(copying())
    return tmp_path / "m.tflite"


@pytest.fixture
def images(tmp_path):
    """A folder of 11 pictures."""
    return save_pictures(tmp_path / "images", 11)
