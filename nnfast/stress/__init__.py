"""Stress: programs in processes of their own that load, run and kill clients, and how each of them ends.

    for result in nnfast.stress.run(["client_early_termination"], minutes=0.2, via="service"):
        print(result)

docs/stress.md tells the tests and the outcomes.
"""

from .outcome import CRASH, FAILURE, HANG, SUCCESS, Result
from .suite import TESTS, find_models, run, run_provocations

__all__ = ["CRASH", "FAILURE", "HANG", "SUCCESS", "TESTS", "Result", "find_models", "run", "run_provocations"]
