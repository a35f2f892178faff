"""What all tests have in common: none of them touches what belongs to the user who runs them."""

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def own_key(tmp_path_factory):
    """Compiled models are signed with a key of the test run, in its processes too."""
    before = os.environ.get("NNFAST_KEY")
    os.environ["NNFAST_KEY"] = str(tmp_path_factory.mktemp("state") / "key")
    yield
    if before is None:
        del os.environ["NNFAST_KEY"]
    else:
        os.environ["NNFAST_KEY"] = before
