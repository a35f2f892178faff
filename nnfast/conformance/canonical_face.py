"""The driver under test through its canonical face."""

from dataclasses import replace

from ..driver.buffers import Role
from ..driver.memory import ASHMEM
from ..driver.memory import Memory as SharedMemory
from ..driver.request import ExecutionResult
from ..errors import Error, ErrorStatus
from .memory import Memory
from .mutations import model_mutations
from .steps import BURST, FENCED
from .verdict import Fail

PATIENCE_SECONDS = 60.0
"""Time that a callback or a fence may take."""


class CanonicalFace:
    """What the kinds ask of a face; here every call goes straight to the device.

    timings: values of "measure timing" to try; priorities: those other than the default; has_arrays: `run` takes
    arrays; bursts_only: no way but the burst; validates_bursts: packets of bursts are tried too.
    """

    hal = "canonical"
    timings = (False, True)
    priorities = ("low", "high")
    has_arrays = True

    def __init__(self, device, bursts_only=False):
        self.device, self.bursts_only, self.validates_bursts = device, bursts_only, bursts_only

    def supported_operations(self, model):
        """One flag per operation; raises an Error."""
        return self.device.supported_operations(model)

    def prepare(self, model, deadline_ns=None, **arguments):
        """Prepared model; raises an Error. arguments: preference and priority in the face's own terms."""
        if deadline_ns is not None:
            arguments["deadline"] = deadline_ns / 1e9
        return self.device.prepare(model, **arguments)

    def ways(self, prepared):
        """Name -> function(request, measure_timing=, loop_timeout=, deadline_ns=) that executes; raises an Error.

        loop_timeout is in seconds. The fenced way also takes again=True: one more execution waits for the first.
        """
        def execute(request, measure_timing=False, deadline_ns=None, **limits):
            return prepared.execute(request, measure_timing=measure_timing, **_with_deadline(limits, deadline_ns))

        def fenced(request, measure_timing=False, deadline_ns=None, again=False, **limits):
            limits = _with_deadline(limits, deadline_ns)
            execution = prepared.execute_fenced(request, measure_timing=measure_timing, **limits)
            if again:
                second = prepared.execute_fenced(request, [execution.fence], measure_timing=measure_timing, **limits)
                _info(execution)
                execution = second
            return ExecutionResult((), _info(execution)[0])

        # A foreign device may have none.
        bursts = {BURST: _Burst(prepared).execute} if hasattr(prepared, "burst") else {}
        return bursts if self.bursts_only else {"execute": execute, FENCED: fenced, **bursts}

    def run(self, prepared, arrays):
        """Outputs of a prepared model for arrays."""
        if not self.bursts_only:
            return prepared.run(arrays)
        with prepared.burst() as burst:
            return burst.run(arrays)

    def configure_burst(self, prepared, get_memories, requests, results):
        """Context of a burst: free_memory(slot), close()."""
        return prepared.configure_burst(get_memories, requests, results)

    def memory(self, case, shorten=0, kind=None):
        """Memory pools of a request; kind: of shared memory (driver.memory.KINDS), None for the face's own."""
        kind = ASHMEM if kind is None and self.bursts_only else kind
        return Memory(case, shorten, None if kind is None else shared(kind))

    def allocate(self, prepared, kind, place):
        """Buffer of the driver for "input" or "output" number `place`; None where the driver may refuse."""
        try:
            return self.device.allocate(**{f"{kind}_roles": [Role(prepared, place)]})
        except Error as error:
            if error.status != ErrorStatus.GENERAL_FAILURE:
                raise
            return None

    def mutations(self, model):
        """Wrong models, as this face takes them."""
        return model_mutations(model)

    def requests(self, prepared, request):
        """Further executions that must be refused: (rule, where, function)."""
        return ()


class _Burst:
    """A burst on a prepared model, made when it is first used; arrays go through shared memory."""

    def __init__(self, prepared):
        self._prepared, self._burst = prepared, None

    def execute(self, request, measure_timing=False):
        self._burst = self._burst or self._prepared.burst()
        pools = [pool if isinstance(pool, SharedMemory) else shared_copy(pool) for pool in request.pools]
        result = self._burst.execute(replace(request, pools=tuple(pools)), measure_timing)
        if self._burst.fallbacks:
            raise Fail("the burst was not used")
        for pool, memory in zip(request.pools, pools):
            if pool is not memory:
                pool[:] = memory.array()
        return result


def shared_copy(array):
    """Shared memory with the bytes of an array."""
    memory = SharedMemory.create(array.nbytes)
    memory.array()[:] = array
    return memory


def shared(kind):
    """Function from a size to (memory of a kind, its bytes as an array)."""
    def allocate(size):
        memory = SharedMemory.create(size, kind)
        return memory, memory.array()

    return allocate


def _with_deadline(limits, deadline_ns):
    return limits if deadline_ns is None else {**limits, "deadline": deadline_ns / 1e9}


def _info(execution):
    """Times of a fenced execution, once its fence has ended."""
    if execution.fence.wait(PATIENCE_SECONDS) == "active":
        raise Fail(f"the fence is not signalled after {PATIENCE_SECONDS:.0f} s")
    return execution.info()
