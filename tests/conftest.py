"""What all tests have in common: none of them touches what belongs to the user who runs them."""

import os

import pytest
from hypothesis import HealthCheck, settings

# Hypothesis, without limits by the clock: the same examples each time, or others with --hypothesis-profile=explore.
for _name, _same in (("gate", True), ("explore", False)):
    settings.register_profile(_name, deadline=None, derandomize=_same, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("gate")


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
