"""One session: steps that its bytes name and decide, each held against the definitions of the operations in numpy."""

import gc
import os
import threading
import time
from concurrent.futures import CancelledError
from dataclasses import replace
from functools import partial

import numpy as np

from .. import CacheFiles, Device
from ..conformance.judge import DIFFERS, judge
from ..conformance.memory import DeviceMemory
from ..conformance.parts import golden
from ..conformance.runner import FACES
from ..conformance.steps import BURST, FENCED, claims_all, must_refuse, perform
from ..conformance.worker import has_newer_operand, make_face
from ..driver.memory import ASHMEM
from ..errors import Error, ErrorStatus, ResourceExhaustedPersistent
from .session_parts import (
    Drawn,
    Finding,
    Pending,
    Slot,
    Stored,
    deadline,
    has_open_input,
    other_values,
    seed_inputs,
)

WAYS = (("canonical", False), ("canonical", True), ("1.3", False), ("canonical", False), ("1.2", False), ("1.3", True),
        ("1.1", False), ("1.0", False))
"""(face, in a driver of its own, reached through its socket)."""

MEMORY, LITTLE = 256 << 20, 96 << 10
"""Memory limits of devices, in bytes."""

MOST_OUTPUT = 64 << 20
"""Bytes of an operation's output up to which a graph is run on other inputs."""

GRAPH_BYTES = 14
"""Bytes that a graph is drawn by."""

MOST_STEPS, MOST_MODELS, MOST_PENDING = 32, 4, 6
PATIENCE = 60.0
PAST, SOON = -1.0, 2e-4
"""Deadlines, in seconds from now."""

MISSED = ErrorStatus.MISSED_DEADLINE_TRANSIENT, ErrorStatus.MISSED_DEADLINE_PERSISTENT
EXHAUSTED = ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, ErrorStatus.RESOURCE_EXHAUSTED_PERSISTENT
NUMBERS = (0, 1, 2, 3, 7, 8, 255, 256, 4096, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)


class Play:
    """One session. target: a Session, whose graphs and driver it uses; source: its bytes."""

    def __init__(self, target, source):
        self.target, self.source = target, source
        self.hal, is_remote = source.pick(WAYS)
        self.version = FACES[self.hal]
        choice = source.byte()
        self.has_little = not is_remote and choice % 8 == 7
        self.device = target.connected() if is_remote else Device(
            num_threads=1 + choice % 2, memory_limit=LITTLE if self.has_little else MEMORY)
        self.face = make_face(self.device, self.hal)
        self.slots, self.pending, self.stored = [], [], []
        self._tell("face", self.hal, "by socket" if is_remote else repr(self.device),
                   "little memory" if self.has_little else "")
        self._steps = (self._prepare, self._execute, self._execute, self._execute, self._execute_others,
                       self._execute_others, self._execute_together, self._submit, self._submit, self._collect,
                       self._cancel, self._load, self._load, self._execute_short, self._execute_wrong, self._release)

    def run(self):
        try:
            steps = 0
            while not self.source.is_used_up and steps < MOST_STEPS:
                step = self.source.pick(self._steps)
                if not self.slots and not (step == self._load and self.stored):
                    step = self._prepare
                step()
                steps += 1
            while self.pending:
                self._collect()
            while self.slots:
                self._release()
        finally:
            self._close()
        self._check_memory()

    def _tell(self, *words):
        if self.target.tell is not None:
            self.target.tell(" ".join(filter(None, map(str, words))))

    def _slot(self):
        return self.source.pick(self.slots)

    def _is_allowed(self, error, seconds=None, way=None):
        """Whether a call that is right may end like this. Faces of before 1.3 and bursts know no exhausted memory."""
        if self.has_little and (error.status in EXHAUSTED or error.status == ErrorStatus.GENERAL_FAILURE and
                                (way == BURST or self.hal not in ("canonical", "1.3"))):
            return True
        return seconds is not None and error.status in MISSED

    # -- models --------------------------------------------------------------------------------------------------------
    def _prepare(self):
        drawn, choice = self.target.drawn(self.source.take(GRAPH_BYTES), self.version), self.source.byte()
        if drawn is None or self.hal != "canonical" and has_newer_operand(drawn.case.model, self.hal):
            return
        if len(self.slots) == MOST_MODELS:
            self._release()
        options, seconds, stored = {}, None, None
        if self.hal in ("canonical", "1.3"):
            seconds = (None,) * 6 + (PAST, SOON)
            seconds = seconds[choice % 8]
            if choice & 8:
                options["priority"] = self.face.priorities[choice >> 4 & 1]
        if self.hal == "canonical" and choice & 32:
            stored = Stored(drawn, CacheFiles((os.memfd_create("model"),), (os.memfd_create("data"),)),
                            bytes([choice]) * 32)
            self.stored.append(stored)
            options |= {"cache": stored.files, "token": stored.token}
        self._tell("prepare", drawn, options, f"within {seconds} s" if seconds is not None else "")
        claimed = claims_all(self.face, drawn.case.model)
        if seconds is not None:
            options["deadline_ns"] = deadline(seconds)
        try:
            prepared = self.face.prepare(drawn.case.model, **options)
        except Error as error:
            if stored is not None:
                stored.is_damaged = True  # nothing was stored
            if claimed and not self._is_allowed(error, seconds):
                raise Finding(f"prepare of {drawn}, which is supported: {error}") from error
            return
        if seconds == PAST:
            raise Finding(f"prepare of {drawn} succeeds after its deadline")
        self._add(drawn, prepared)

    def _add(self, drawn, prepared):
        ways = dict(self.face.ways(prepared))
        if self.face.has_arrays:
            ways |= {"run": None, "stream": None}
        self.slots.append(Slot(drawn, prepared, ways))

    def _load(self):
        if not self.stored:
            return
        stored, choice, place = self.source.pick(self.stored), self.source.byte(), self.source.take(3)
        token = stored.token if choice % 8 != 7 else stored.token[::-1][:-1] + b"?"
        if choice % 8 == 6 and not stored.is_damaged:
            self._damage(stored, stored.descriptors[choice >> 7], int.from_bytes(place[:2], "little"), place[2] or 1)
        self._tell("load", stored.drawn, "damaged" if stored.is_damaged else "",
                   "by another token" if token != stored.token else "")
        if len(self.slots) == MOST_MODELS:
            self._release()
        try:
            prepared = self.device.prepare_from_cache(stored.files, token)
        except Error as error:
            if not stored.is_damaged and token == stored.token and not self._is_allowed(error):
                raise Finding(f"what was stored of {stored.drawn} cannot be loaded: {error}") from error
            return
        if stored.is_damaged or token != stored.token:
            raise Finding(f"{'damaged files' if stored.is_damaged else 'another token'} gave a model of {stored.drawn}")
        self._add(stored.drawn, prepared)

    @staticmethod
    def _damage(stored, fd, place, mask):
        size = os.fstat(fd).st_size
        if size:
            byte, = os.pread(fd, 1, place % size)
            os.pwrite(fd, bytes([byte ^ mask]), place % size)
            stored.is_damaged = True

    def _release(self):
        slot = self.slots.pop(self.source.below(len(self.slots)))
        self._tell("release", slot.drawn)
        for pending in self.pending:
            pending.may_fail |= pending.slot is slot
        slot.ways = {}
        if self.face.has_arrays:
            slot.prepared.close()
            try:
                slot.prepared.run(list(slot.drawn.case.inputs))
            except Error as error:
                if error.status != ErrorStatus.INVALID_ARGUMENT:
                    raise Finding(f"a closed model says {error}") from error
            else:
                raise Finding("a closed model runs")
        slot.prepared = None

    # -- executions ----------------------------------------------------------------------------------------------------
    def _execute(self):
        slot = self._slot()
        self._execute_on(slot, slot.drawn, self.source.pick(list(slot.ways)), self.source.byte())

    def _execute_others(self):
        """On other inputs, which the definitions may refuse."""
        slot = self._slot()
        base, key, way = slot.drawn, self.source.take(2), self.source.pick(list(slot.ways))
        if key not in base.others:
            kept = seed_inputs(base.case.model)
            inputs = [array if array is None or place in kept else other_values(array, key[place % 2] + place)
                      for place, array in enumerate(base.case.inputs)]
            try:
                base.others[key] = Drawn.of(golden(base.case.name, base.case.model, inputs, MOST_OUTPUT))
            except ResourceExhaustedPersistent:
                base.others[key] = None  # values that are sizes, such as paddings: too much for whoever computes it
            except Error as error:
                base.others[key] = inputs, str(error)  # its traceback would keep this session and all that it holds
        if base.others[key] is None:
            self._tell("not run:", base, "on inputs of which results grow too large")
        elif isinstance(base.others[key], Drawn):
            self._execute_on(slot, base.others[key], way, self.source.byte())
        elif self.face.has_arrays:
            inputs, wanted = base.others[key]
            self._tell("run", base, "on inputs that are refused:", wanted)
            try:
                self.face.run(slot.prepared, inputs)
            except Error:
                return
            raise Finding(f"{base} runs on inputs for which its definition says: {wanted}")

    def _execute_on(self, slot, drawn, way, choice):
        seconds = None
        if way != BURST and (self.hal == "canonical" and way in ("execute", FENCED) or
                             self.hal == "1.3" and way in ("async", "sync")):
            seconds = ((None,) * 14 + (PAST, SOON))[choice % 16]
        self._tell(way, drawn, f"within {seconds} s" if seconds is not None else "")
        try:
            outputs = self._outputs(slot.prepared, slot.ways, drawn, way, choice, seconds)
        except Error as error:
            if not self._is_allowed(error, seconds, way) and not (
                    seconds is not None and way == FENCED and error.status == ErrorStatus.GENERAL_FAILURE):
                raise Finding(f"{way} of {drawn}: {error}") from error
            return
        if seconds == PAST and outputs is not None:
            raise Finding(f"{way} of {drawn} succeeds after its deadline")
        if outputs is not None:
            self._hold(drawn, way, outputs)

    def _outputs(self, prepared, ways, drawn, way, choice, seconds=None):
        """What an execution writes; None for one that must be, and was, refused."""
        case = drawn.case
        if way == "run":
            return self.face.run(prepared, list(case.inputs))
        if way == "stream":
            return prepared.stream().run(list(case.inputs))
        measured = bool(choice & 16) and True in self.face.timings
        run = partial(ways[way], measure_timing=measured)
        memory = self.face.memory(case, kind=ASHMEM) if choice & 32 else self.face.memory(case)
        if way == FENCED and drawn.is_open:
            must_refuse(run, way, memory.request)
            return None
        if choice & 64 and way != BURST and not drawn.is_open and self.hal in ("canonical", "1.3") and \
                all(array is None or array.size for array in case.inputs) and not has_open_input(case.model):
            memory = DeviceMemory(self.face, prepared, case)
        limits = {} if seconds is None else {"deadline_ns": deadline(seconds)}
        return perform(self.face, run, way, case, measured, False, memory, **limits).outputs()

    def _execute_together(self):
        """Two or three executions at once, on threads."""
        parts = [(slot := self._slot(), self.source.pick(list(slot.ways)), self.source.byte())
                 for _ in range(2 + self.source.below(2))]
        self._tell("at once:", *(f"{way} {slot.drawn};" for slot, way, _ in parts))
        found = {}

        def work(place, slot, way, choice):
            try:
                # A burst takes one request at a time; so each thread has ways of its own.
                found[place] = self._outputs(slot.prepared, self.face.ways(slot.prepared), slot.drawn, way, choice)
            except BaseException as error:
                found[place] = error

        threads = [threading.Thread(target=work, args=(place, *part), daemon=True) for place, part in enumerate(parts)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        for place, (slot, way, _) in enumerate(parts):
            if place not in found:
                raise Finding(f"{way} of {slot.drawn} beside others takes more than {PATIENCE:g} s")
            if isinstance(found[place], BaseException):
                if not isinstance(found[place], Error) or not self._is_allowed(found[place], None, way):
                    raise Finding(f"{way} of {slot.drawn} beside others: {found[place]}") from found[place]
            elif found[place] is not None:
                self._hold(slot.drawn, way, found[place])

    def _submit(self):
        slot = self._slot()
        if not self.face.has_arrays:
            return
        if len(self.pending) == MOST_PENDING:
            self._collect()
        self._tell("submit", slot.drawn)
        self.pending.append(Pending(slot, slot.prepared.submit(list(slot.drawn.case.inputs))))

    def _collect(self):
        if not self.pending:
            return
        pending = self.pending.pop(self.source.below(len(self.pending)))
        self._tell("collect", pending.slot.drawn)
        try:
            outputs = pending.future.result(PATIENCE)
        except (Error, CancelledError) as error:
            if not pending.may_fail and not (isinstance(error, Error) and self._is_allowed(error)):
                raise Finding(f"submit of {pending.slot.drawn}: {error}") from error
            return
        except TimeoutError as error:
            raise Finding(f"submit of {pending.slot.drawn} takes more than {PATIENCE:g} s") from error
        self._hold(pending.slot.drawn, "submit", outputs)

    def _cancel(self):
        if self.pending:
            pending = self.source.pick(self.pending)
            self._tell("cancel", pending.slot.drawn)
            pending.future.cancel()
            pending.may_fail = True

    def _execute_short(self):
        """With too little memory for the first output."""
        slot = self._slot()
        ways = [way for way, run in slot.ways.items() if run is not None]
        way, case = self.source.pick(ways), slot.drawn.case
        if not case.expected[0].nbytes:
            return
        self._tell(way, slot.drawn, "into too little memory")
        memory = self.face.memory(case, shorten=1)
        try:
            slot.ways[way](memory.request)
        except Error:
            if memory.damage():
                raise Finding(f"{way} of {slot.drawn} into too little memory: {memory.damage()}") from None
            return
        raise Finding(f"{way} of {slot.drawn} succeeds in too little memory")

    def _execute_wrong(self):
        """A request with a number that does not belong there; it may be refused or not."""
        slot = self._slot()
        way = self.source.pick([way for way, run in slot.ways.items() if run is not None])
        role, name = self.source.pick(("inputs", "outputs")), self.source.pick(("pool", "offset", "length", "dims"))
        number, request = self.source.pick(NUMBERS), self.face.memory(slot.drawn.case).request
        arguments = list(getattr(request, role))
        place = self.source.below(len(arguments))
        arguments[place] = replace(arguments[place], **{name: (number,) * self.source.below(6) if name == "dims" else
                                                        number})
        self._tell(way, slot.drawn, f"with {role}[{place}].{name} of {getattr(arguments[place], name)}")
        try:
            slot.ways[way](replace(request, **{role: tuple(arguments)}))
        except Error:
            pass

    # -- what is right -------------------------------------------------------------------------------------------------
    def _hold(self, drawn, way, outputs):
        """Outputs are those of the definitions, and the same bits whenever and however they are computed."""
        outputs = [np.asarray(array) for array in outputs]
        found = [array.tobytes() for array in outputs]
        bits = drawn.bits.get(self.hal)
        if bits is None:
            verdict, text = judge(drawn.case, outputs, self._again)
            if verdict == DIFFERS:
                raise Finding(f"{way} of {drawn}: {text}")
            drawn.bits[self.hal] = found
        elif bits != found:
            place = next(place for place, pair in enumerate(zip(bits, found)) if pair[0] != pair[1])
            raise Finding(f"{way} of {drawn}: output {place} has other bits than before")

    def _again(self, case):
        """Outputs of a case by a model of its own."""
        prepared, drawn = self.face.prepare(case.model), Drawn.of(case)
        ways = {} if self.face.has_arrays else self.face.ways(prepared)
        return [np.array(array) for array in
                self._outputs(prepared, ways, drawn, "run" if self.face.has_arrays else next(iter(ways)), 0)]

    def _close(self):
        self.slots, self.pending = [], []
        for stored in self.stored:
            for fd in stored.descriptors:
                os.close(fd)
        self.device.close()

    def _check_memory(self):
        budget = getattr(self.device, "budget", None)
        if budget is not None and budget.used:
            gc.collect()
            until = time.monotonic() + PATIENCE
            while budget.used and time.monotonic() < until:
                time.sleep(0.001)  # a thread that has just given its result still holds what it worked with
            if budget.used:
                raise Finding(f"{budget.used} bytes are counted after the last model was released")
