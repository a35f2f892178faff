"""The standard's kinds of tests through the driver's process, on every face."""

import pytest

from helpers.vector_files import add_test, write
from nnfast.conformance import run


@pytest.mark.parametrize("hal", ["canonical", "1.0", "1.1", "1.2", "1.3"])
def test_every_kind(tmp_path, hal):
    path = tmp_path / "add.json.gz"
    write(path, add_test())
    results = run([path], hal=hal, via="service", jobs=1)
    assert results.passed and not results.failed, [test.reason for test in results.tests if test.outcome == "failed"]
