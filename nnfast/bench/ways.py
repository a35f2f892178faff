"""Other ways to run a model, for `nnfast benchmark --via`: through a burst, and in a driver's process."""

import os
import secrets
import tempfile
import time
from contextlib import contextmanager

WAYS = ("local", "burst", "service")
MLTS_WAYS = (*WAYS, "ndk")
""""ndk": libneuralnetworks.so in front of a driver's process."""
POLLING_US = 10_000
"""A caller polls so long for its results; between two runs the driver's own window is long enough."""
PATIENCE_SECONDS = 30.0
IDLE_SECONDS = 60.0
"""After so long without a client the driver's process ends by itself, when this one was killed."""


@contextmanager
def opened(ways, device):
    """Function(model, its local prepared model) -> [(name, run(inputs), facts)] of the ways; what it made ends with it.

    facts: milliseconds of prepare and of the first run.
    """
    with _process(device) if "service" in ways else _nothing() as remote:
        bursts = []

        def entries(model, prepared):
            if "burst" in ways:
                bursts.append(prepared.burst(spin_us=POLLING_US))
                yield "nnfast, burst", bursts[-1].run, {"prepare_ms": None}
            if remote is not None:
                start = time.perf_counter()
                there = remote.prepare(model)
                facts = {"prepare_ms": 1e3 * (time.perf_counter() - start)}
                yield "nnfast, service", there.run, facts
                if "burst" in ways:
                    bursts.append(there.burst(spin_us=POLLING_US))
                    yield "nnfast, service, burst", bursts[-1].run, {"prepare_ms": None}

        try:
            yield entries
        finally:
            for burst in bursts:
                burst.close()


@contextmanager
def _nothing():
    yield None


@contextmanager
def _process(device):
    """A device of a driver's process with the same threads, precision and passes, which ends at once afterwards."""
    from ..service import connect
    from ..service.spawn import start

    path = os.path.join(tempfile.gettempdir(), f"nnfast-{secrets.token_hex(8)}.sock")
    process = start(path, "--threads", str(device.num_threads), "--exit-idle", str(IDLE_SECONDS))
    try:
        remote = connect(path, device.precision, PATIENCE_SECONDS, device.without_passes)
        yield remote
        remote.close()
    finally:
        process.terminate()
        process.wait()
