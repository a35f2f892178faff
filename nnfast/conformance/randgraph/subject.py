"""What random graphs are run on: a face of a driver, the way to it, and the level of its kernels."""

import numpy as np

from ..._native import kernels
from ...compiler.check import check_model
from ...model.types import VERSIONS
from ..runner import BURST, FACES, ROUTES
from ..steps import has_zero_sized, needs_known_outputs, perform, prepare, runs
from ..verdict import Fail, Skip
from ..worker import has_newer_operand, make_device, make_face


def label(hal, via, level):
    """A subject in a few words."""
    return " ".join(filter(None, (hal if hal == "canonical" else f"HAL {hal}", via, level)))


class Subject:
    """A driver in one of its forms. hal: a face of FACES; via: of ROUTES; level: of the kernels, None for the
    machine's; device: "module:callable" of a foreign one.
    """

    def __init__(self, hal="canonical", via="local", level=None, threads=1, device=None):
        self.hal, self.via, self.level, self.threads = hal, via, level, threads
        self._face = make_face(make_device(device or ROUTES[via], threads), hal, via == BURST)

    @property
    def name(self):
        return label(self.hal, self.via, self.level)

    def refusal(self, model):
        """Why this face does not take a model of a newer version, or ""."""
        version = check_model(model)
        if VERSIONS.index(version) > VERSIONS.index(FACES[self.hal]):
            return f"needs HAL {version}"
        return f"has types that are newer than HAL {self.hal}" if self.hal != "canonical" and \
            has_newer_operand(model, self.hal) else ""

    def outputs(self, case, turn=None):
        """Outputs of a case, one array each; the same, to the last bit, by every way to execute.

        turn: a number that chooses one way beside the first, None for all. Raises Fail, Skip or what the driver raises.
        """
        kernels.set_level(self.level)
        try:
            prepared = prepare(self._face, case.model)
            return self._by_all_ways(case, prepared, turn)
        finally:
            kernels.set_level(None)

    def _by_all_ways(self, case, prepared, turn):
        face, open_ = self._face, has_zero_sized(case) or has_open_output(case.model)
        ways = [(label, run, measured) for label, run, measured in runs(face, prepared, bursts=True)
                if not (open_ and needs_known_outputs(label))]
        if turn is not None:
            first = 0 if face.has_arrays else 1  # beside `run`, or beside the first way
            ways = ways[:first] + ways[first:][turn % max(len(ways) - first, 1):][:1]
        found = []
        if face.has_arrays:
            found.append(("run", [np.asarray(array) for array in face.run(prepared, list(case.inputs))]))
        for label, run, measured in ways:
            memory = perform(face, run, label, case, measured, shapes_required=False)
            found.append((label, [np.array(array) for array in memory.outputs()]))
        if not found:
            raise Skip("there is no way to execute it")
        (first, wanted), *others = found
        for label, arrays in others:
            for place, (one, other) in enumerate(zip(wanted, arrays, strict=True)):
                if one.tobytes() != other.tobytes():
                    raise Fail(f"output {place} by {label} is not that by {first}")
        return wanted


def has_open_output(model):
    """True when some output has an unknown dimension or rank."""
    return any(operand.shape is None or None in operand.shape
               for operand in (model.main.operands[place] for place in model.main.outputs))
