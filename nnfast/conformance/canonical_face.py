"""The driver under test through its canonical face."""

from .memory import Memory
from .mutations import model_mutations


class CanonicalFace:
    """What the kinds ask of a face; here every call goes straight to the device.

    timings: values of "measure timing" to try; has_arrays: prepared models also have `run`.
    """

    hal = "canonical"
    timings = (False, True)
    has_arrays = True

    def __init__(self, device):
        self.device = device

    def supported_operations(self, model):
        """One flag per operation; raises an Error."""
        return self.device.supported_operations(model)

    def prepare(self, model, **arguments):
        """Prepared model; raises an Error."""
        return self.device.prepare(model, **arguments)

    def ways(self, prepared):
        """Name -> function(request, measure_timing=, loop_timeout=) that executes; raises an Error."""
        return {"execute": prepared.execute}

    def memory(self, case, shorten=0):
        """Memory pools of a request."""
        return Memory(case, shorten)

    def mutations(self, model):
        """Wrong models, as this face takes them."""
        return model_mutations(model)

    def requests(self, prepared, request):
        """Further executions that must be refused: (rule, where, function)."""
        return ()
