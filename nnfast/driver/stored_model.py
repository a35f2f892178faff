"""The content of cache files [NN 7.6]: a head, signed with the driver's key, and the arrays that it refers to.

Model file: a magic number, the keyed digest of the rest, and a msgpack of File, which includes the small constants.
Data file: a magic number, random bytes that tie it to its head, then packed weights and large constants, each at a
multiple of 64 bytes; the head has its keyed digest. Offsets of small constants continue after the data file's.

Stored are the model, the packed weights, and the plan if all of its steps have records (compiler/stored_plan.py), but
not the constants that only packing reads. Loading checks the model's structure as for any client, and every step of the
plan against the memory that it touches; a model without a stored plan is planned again, without repeating the packing.
So files can determine the numbers to compute with, and nothing else.
"""

import os
from typing import NamedTuple

import numpy as np

from .._native import kernels
from .._native.codec import same_digest
from .._native.engine import aligned_bytes
from ..alignment import LINE, align
from ..compiler.packing import Packing, StoredPacking
from ..compiler.passes.drop_constants import spare as spare_of
from ..compiler.stored_plan import PlanRecord, Restoring, plan_of, restore
from ..compiler.stored_steps.base import Misfit
from ..extras import msgspec
from ..model.records import (
    Constants,
    Data,
    ModelRecord,
    Record,
    array_of,
    encode,
    is_withheld,
    record_of,
)
from ..model.restored import model_of
from .arguments import plain_keys, plain_shapes

MODEL_MAGIC, DATA_MAGIC = b"NNFMDL10", b"NNFDAT10"
MAX_HEAD = 1 << 24
"""Size limit of a model file in bytes: enough for some tens of thousands of operations."""

_DIGEST_BYTES = 32
_START = len(MODEL_MAGIC) + _DIGEST_BYTES
_LARGE, _MOST_SMALL = 1 << 16, 1 << 22
"""Bytes from which a constant is large, and limit of all small ones together: these go into the model file."""

DAMAGED = "the model file is damaged, or was stored under another key: by another user, or on another machine"


class Unusable(Exception):
    """The files cannot be used; the message says why."""


class Stamp(Record):
    """What must match to use the files: all that another driver, machine or token would interpret differently."""

    driver: str
    level: str
    precision: str | None
    without_passes: list[str]
    token: bytes


class Content(Record):
    """The model as it was given to `prepare`, and its options.

    packed: packed weights in the order in which planning asks for them; None: the model is stored as a whole instead.
    small: the small constants. plan: None if the model is to be planned again.
    """

    model: ModelRecord
    preference: str
    priority: str
    input_shapes: list[tuple[int | str, tuple[int, ...]]] | None
    keep: list[int | str] | None
    packed: list[Data] | None
    small: bytes
    data_length: int
    data_digest: bytes
    plan: PlanRecord | None

    def facts(self):
        """The Facts of this head."""
        operands, inputs = self.model.main.operands, self.model.main.inputs  # which were not checked yet
        is_for_one = bool(self.model.extensions) or self.input_shapes is None and any(
            0 in operands[operand].dims for operand in inputs if 0 <= operand < len(operands))
        return Facts(self.data_length, self.data_digest, self.preference, self.priority, is_for_one)


class Facts(NamedTuple):
    """What a head says of its data file and of how the model was prepared. is_for_one: clients cannot share it, because
    it has extensions, or inputs of unknown shape and so no plan."""

    data_length: int
    data_digest: bytes
    preference: str
    priority: str
    is_for_one: bool


class File(Record):
    stamp: Stamp
    content: msgspec.Raw


_SAID = {"level": "instruction level", "without_passes": "set of compiler passes left out"}
"""Names of a Stamp's fields in messages, if different."""

_FILES, _CONTENTS, _PLANS = map(msgspec.msgpack.Decoder, (File, Content, PlanRecord))


def stamp_of(driver, device, token):
    """The Stamp of what a device stores now."""
    return Stamp(driver, kernels.level(), device.precision, sorted(device.without_passes), bytes(token))


# -- storing -----------------------------------------------------------------------------------------------------------
def pack(prepared, stamp, digest):
    """(bytes of the model file, array of the data file, Facts) of a prepared model. Raises Unusable, TypeError."""
    model, segment = prepared.source, prepared.executor.segment
    spare = _spare(prepared)
    packing = Packing() if spare is None else segment.packing
    constants = Constants(LINE)
    _add_late(constants, packing, model, segment, spare)
    large, end = len(constants.arrays), constants.end
    packed = None if spare is None else [constants.add(array) for array in packing.arrays]
    plan = None if spare is None else _plan_of(prepared, constants)
    record = record_of(model, constants, spare or ())
    if spare is None or constants.end - end > _MOST_SMALL:
        large, end = len(constants.arrays), constants.end
    content = _data_file(constants.arrays[:large], end)
    small = _joined(constants.arrays[large:], constants.end - end)
    preference, priority, shapes, keep = prepared.options
    shapes, keep = plain_shapes(shapes), plain_keys(keep)
    head = Content(record, preference, priority, list(shapes.items()) if shapes else None, keep, packed,
                   small.tobytes(), content.nbytes, digest.of(content, prepared.num_threads), plan)
    text = encode(File(stamp, msgspec.Raw(encode(head))))
    if len(text) > MAX_HEAD:
        raise Unusable(f"the model takes {len(text)} bytes without its constants, must be at most {MAX_HEAD}")
    return sign(text, digest), content, head.facts()


def sign(text, digest):
    """Bytes of a model file with this head."""
    return MODEL_MAGIC + digest.of(text) + text


def _spare(prepared):
    """Operand indexes of the constants that are not stored; None: store the whole model, to be planned again."""
    source, executor = prepared.source, prepared.executor
    if prepared.spare is not None or executor.segment is None or "drop_constants" in prepared.device.without_passes \
            or not source.extensions:
        return prepared.spare
    if _plan_of(prepared, Constants()) is None:
        return None
    return spare_of(source, prepared.model, executor.segment, executor.kept, is_stored=True)


def _plan_of(prepared, constants):
    """The PlanRecord of a model that is one segment, or None if it cannot be restored; adds its arrays to Constants."""
    arrays = {}

    def add(array):
        data = constants.add(array)
        arrays[data] = array.reshape(data.shape)
        return data

    plan = plan_of(prepared.executor.segment, prepared.num_threads, add)
    if plan is not None:
        try:
            plan = _PLANS.decode(encode(plan))
            Restoring(plan, prepared.model.main, prepared.executor.kept, arrays.__getitem__, lambda data: False)
        except (msgspec.ValidationError, Misfit):  # more than a record can express
            return None
    return plan


def _add_late(constants, packing, model, segment, spare):
    """Add first what goes into the data file: packed weights that planning does not read, and large constants."""
    for place, array in enumerate(packing.arrays):
        if place not in packing.early:
            constants.add(array)
    withheld = spare or ()
    arrays = [state.initial for state in model.states]
    for graph in (model.main, *model.referenced):
        arrays += [o.data for place, o in enumerate(graph.operands) if graph is not model.main or place not in withheld]
    if spare is not None:
        arrays += segment.frame_spec["constants"].values()
    for array in arrays:
        if array is not None and array.nbytes >= _LARGE:
            constants.add(array)


def _data_file(arrays, size):
    start = DATA_MAGIC + os.urandom(LINE - len(DATA_MAGIC))  # models with the same constants must not share data
    return _joined([np.frombuffer(start, np.uint8), *arrays], size)


def _joined(arrays, size):
    """The arrays, each at a multiple of LINE, in one of `size` bytes."""
    content, at = aligned_bytes(size), 0
    for flat in arrays:
        end = at + align(flat.nbytes)
        content[at:at + flat.nbytes] = flat
        content[at + flat.nbytes:end] = 0
        at = end
    return content


# -- loading -----------------------------------------------------------------------------------------------------------
def check_signature(raw, digest):
    """The signature of the bytes of a model file, which differs between any two files. Raises Unusable if it is not of
    these bytes. digest: a KeyedDigest."""
    text, signature = _text_of(raw), signature_of(raw)
    if not same_digest(digest.of(text), signature):
        raise Unusable(DAMAGED)
    return signature


def _text_of(raw):
    if len(raw) < _START or raw[:len(MODEL_MAGIC)] != MODEL_MAGIC:
        raise Unusable("the model file holds no compiled model")
    return memoryview(raw)[_START:]


def signature_of(raw):
    """The signature in the bytes of a sound model file."""
    return raw[len(MODEL_MAGIC):_START]


def decode(raw, stamp):
    """The Content in the bytes of a model file that are known to be a driver's own."""
    file = _FILES.decode(_text_of(raw))
    for field in stamp.__struct_fields__:
        got = getattr(file.stamp, field)
        if got != getattr(stamp, field):
            name = _SAID.get(field, field)
            raise Unusable(f"it was stored with another {name}" + (f": {got}" if field != "token" else ""))
    return _CONTENTS.decode(file.content)


def check_data(facts, data, found):
    """Raise Unusable if data do not belong to a head. found: their digest, None for trusted data."""
    if data.nbytes != facts.data_length or bytes(data[:len(DATA_MAGIC)]) != DATA_MAGIC:
        raise Unusable("the data file does not hold the constants of this model")
    if found is not None and not same_digest(found, facts.data_digest):
        raise Unusable("the data file is damaged, or belongs to another model file")


def may_be_late(content):
    """True if the model can be planned while its data file is still being read: planning reads nothing of it."""
    graphs = content.model.main, *content.model.referenced
    rows = (*(o.data for graph in graphs for o in graph.operands), *(state.initial for state in content.model.states))
    return content.packed is not None and content.small != b"" and all(
        row is None or is_withheld(row) or row.offset >= content.data_length for row in rows)


def unpack(content, data, threads, is_late=False, source=None):
    """(model, (preference, priority, input_shapes, keep), StoredPacking or None) of checked files.

    threads: the device's; is_late: the data file is still being read, see may_be_late; source: the very model that was
    stored, which is not made again then.
    """
    packing, small = None, aligned_bytes(len(content.small))
    small[:] = np.frombuffer(content.small, np.uint8)
    small.flags.writeable = False
    parts = data, small
    if content.packed is not None:
        extensions = content.model.extensions
        if content.model.referenced or extensions and content.plan is None:
            raise Unusable("a model with extensions or subgraphs has no plan of its own")
        early = {place for place, row in enumerate(content.packed) if row.offset >= content.data_length}
        late = frozenset(range(len(content.packed))).difference(early) if is_late else frozenset()
        plan = None
        # Plans depend a little on the number of threads; those of extensions cannot be made again.
        if content.plan is not None and (content.plan.threads == threads or extensions):
            plan = early, _restoring(content, parts, is_late)
        left_out = frozenset(place for place, o in enumerate(content.model.main.operands)
                             if o.data is not None and is_withheld(o.data))
        packing = StoredPacking([array_of(row, parts, f"packed[{place}]") for place, row in enumerate(content.packed)],
                                late, plan, left_out)
    model = source or model_of(content.model, parts, may_withhold=packing is not None)
    shapes = content.input_shapes
    return model, (content.preference, content.priority, shapes and dict(shapes), content.keep), packing


def _restoring(content, parts, is_late):
    """The function that restores the plan of a Content."""
    def is_late_of(data):
        return is_late and data.offset < content.data_length

    def restored(model, kept, resources):
        return restore(content.plan, model, kept, resources, lambda data: array_of(data, parts, "plan"), is_late_of)

    return restored
