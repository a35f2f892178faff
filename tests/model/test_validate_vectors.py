"""validate_model on the standard's own models: all are accepted (what it must refuse: conformance/mutations.py)."""

import os
from pathlib import Path

import pytest

from nnfast.conformance.vectors import read
from nnfast.model.validate import validate_model

ROOT = Path(__file__).resolve().parents[2]
VECTORS = (ROOT / os.environ.get("NNFAST_SHARED", "../shared") / "vts").resolve()
FILES = sorted(VECTORS.glob("[AV]*/*.json.gz"))
EVERY = 12

pytestmark = pytest.mark.skipif(not FILES, reason="no conformance vectors (NNFAST_SHARED)")


@pytest.mark.parametrize("part", range(EVERY))
def test_models_of_the_standard_are_accepted(part):
    for path in FILES[part::EVERY]:
        for vector in read(path):
            validate_model(vector.case().model)
