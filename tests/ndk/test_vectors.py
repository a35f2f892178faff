"""Conformance vectors through the library's functions: nnfast vts --via ndk."""

import pytest

from helpers.shared import VECTORS, needs_vectors
from nnfast.conformance.runner import NDK_KINDS, run
from nnfast.errors import InvalidArgument


@needs_vectors
@pytest.mark.parametrize("kind", NDK_KINDS)
def test_a_sample(kind):
    found = run([VECTORS], via="ndk", kinds=[kind], sample=12, seed=3, jobs=1)
    assert len(found.tests) >= 5
    assert [(test.name, test.reason) for test in found.tests if test.outcome != "passed"] == []


@pytest.mark.parametrize("options,text", [
    ({"kinds": ["validation"]}, "kind via ndk is 'validation', must be one of general"),
    ({"hal": "1.2"}, "via ndk has no face of HAL 1.2")])
def test_what_it_cannot_say(options, text):
    with pytest.raises(InvalidArgument, match=text):
        run([VECTORS], via="ndk", **options)
