"""What a session has in hand: graphs with what is known of them, prepared and stored models, pending executions."""

import time
from dataclasses import dataclass, field

import numpy as np

from .. import CacheFiles
from ..conformance.randgraph.subject import has_open_output
from ..conformance.steps import has_zero_sized
from ..conformance.vectors import Case
from ..model.types import OperationType


class Finding(AssertionError):
    """What a session found wrong, in one line."""


@dataclass(eq=False, slots=True)
class Drawn:
    """A case, with the bits of its outputs by face, once they were found right, and the same graph on other inputs:
    (inputs, reason) where the definitions refuse them, None where results of them are too large.
    """

    case: Case
    is_open: bool = False
    bits: dict = field(default_factory=dict)
    others: dict = field(default_factory=dict)

    @classmethod
    def of(cls, case):
        return cls(case, has_zero_sized(case) or has_open_output(case.model))

    def __str__(self):
        return ", ".join(operation.type.name for operation in self.case.model.main.operations[:6])


@dataclass(eq=False, slots=True)
class Slot:
    """A prepared model. ways: as the face has them, with those that take arrays."""

    drawn: Drawn
    prepared: object
    ways: dict


@dataclass(eq=False, slots=True)
class Pending:
    """An execution in the background. may_fail: it was cancelled, or its model closed."""

    slot: Slot
    future: object
    may_fail: bool = False


@dataclass(eq=False, slots=True)
class Stored:
    """A compiled model in files of memory."""

    drawn: Drawn
    files: CacheFiles
    token: bytes
    is_damaged: bool = False

    @property
    def descriptors(self):
        return (*self.files.model, *self.files.data)


def deadline(seconds):
    """Nanoseconds of the clock so many seconds from now."""
    return int((time.monotonic() + seconds) * 1e9)


def has_open_input(model):
    """True when some input has an unknown dimension or rank."""
    main = model.main
    return any(operand.shape is None or None in operand.shape
               for operand in (main.operands[place] for place in main.inputs))


def seed_inputs(model):
    """Places of the inputs that are seeds, which must stay: two zeros would ask for other numbers each time."""
    main = model.main
    seeds = {operation.inputs[2] for operation in main.operations
             if operation.type == OperationType.RANDOM_MULTINOMIAL}
    return {place for place, operand in enumerate(main.inputs) if operand in seeds}


def other_values(array, choice):
    """An array of the same form with other values."""
    flat = array.reshape(-1)
    match choice % 8:
        case 0:
            made = flat
        case 1:
            made = flat[::-1]
        case 2:
            made = np.roll(flat, choice)
        case 3:
            made = np.zeros_like(flat)
        case 4:
            made = np.ones_like(flat)
        case 5 if array.dtype.kind in "iu":
            made = np.full_like(flat, np.iinfo(array.dtype).max)
        case 6 if array.dtype.kind in "iu":
            made = np.full_like(flat, np.iinfo(array.dtype).min)
        case _:
            with np.errstate(over="ignore"):
                made = flat * array.dtype.type(3) if array.dtype.kind != "b" else ~flat
    return np.ascontiguousarray(made).reshape(array.shape)
