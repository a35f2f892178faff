"""What all tests have in common: none of them touches what belongs to the user who runs them."""

import gc
import os
import sys

import numpy as np
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


def pytest_collection_finish(session):
    """Note where the random generators of test modules and helpers begin."""
    modules = {item.module for item in session.items if hasattr(item, "module")}
    modules |= {module for name, module in sys.modules.items() if name.partition(".")[0] == "helpers"}
    found = {id(value): value for module in modules for value in vars(module).values()
             if isinstance(value, np.random.Generator)}
    session.config.generators = [(each, each.bit_generator.state) for each in found.values()]
    gc.collect()
    gc.freeze()  # the tests themselves: else each collection goes through all of them


@pytest.fixture(autouse=True)
def same_numbers(request):
    """A generator gives a test the same numbers, whichever tests of its module ran before in this process."""
    for generator, state in request.config.generators:
        generator.bit_generator.state = state
