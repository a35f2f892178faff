"""Compiled models shared by clients: one set of packed weights, as long as any client uses it.

A model is compiled once, for the server; every client gets a twin with the same programs and weights, but its own
preference, priority, working memory and quota: plans depend on neither of the first two. Two models are the same if all
their bytes are, as sent by a client or as in the model file of a cache; a digest with a secret key only finds
candidates.
"""

import os
import threading
import weakref

import numpy as np

from ... import pace
from ..._native.codec import KEY_BYTES, KeyedDigest
from ...driver.stored_model import signature_of
from ...forks import renewed
from .recent_roots import RecentRoots
from .turns import LOOK_SECONDS

PIECE = 1 << 18
PART = 1 << 25
"""Bytes of a model that are digested between two chances for other clients to work."""

_digest = KeyedDigest(os.urandom(KEY_BYTES))


class Root:
    """A model as compiled by the server. nbytes: held for it besides its plan; sent: Model and Source of a client, of
    which the prepared model uses most objects, so that they are charged while it lives, or None; users: twins of
    clients; places: {key of the registry: _Place}; stored_as: the key of the files that it was put into
    last, or None."""

    def __init__(self, prepared, nbytes, sent=None):
        self.prepared, self.nbytes, self.sent = prepared, nbytes, sent
        self.users, self.places, self.stored_as = weakref.WeakSet(), {}, None

    @property
    def held_bytes(self):
        """All that is held for it."""
        return self.nbytes + self.prepared.executor.segment.held_bytes

    def twin(self, device, preference, priority):
        """A PreparedModel of a client's device over the same plan."""
        twin = self.prepared.twin(device, preference, priority)
        twin.root = self
        if device.budget is not None:
            twin.charge = device.budget.share(self.nbytes, "prepare: the model")
        self.users.add(twin)
        return twin


class Registry:
    """The roots of one server, by the bytes of their models and options of preparation. device(precision): the server's
    own Device; limit: bytes of memory that the server may use for models, None for no limit."""

    def __init__(self, device, limit=None):
        self._device, self._lock = device, renewed(threading.Lock())
        self._roots, self._making = {}, {}
        self.recent = RecentRoots(limit)

    def roots(self):
        """Those in use, and those kept after that."""
        return list(dict.fromkeys(root for references in list(self._roots.values()) for reference in list(references)
                                  if (root := reference()) is not None))

    def prepare(self, device, model, source, options, deadline, work):
        """A PreparedModel for a client: a twin of an existing root, or of one compiled now.

        Models that cannot be planned ahead, and those with vendor extensions, are compiled for each client. options:
        preference, priority, input_shapes and keep; work: turns.Work of the call.
        """
        preference, priority, *rest = options
        if model.extensions or rest[0] is None and _is_open(model):
            return device.prepare(model, *options, deadline)
        key = (_digests(source.content), source.content.nbytes,
               repr((*rest, device.precision, sorted(device.without_passes))))

        def make(own):
            root = Root(own.prepare(model, *options, deadline), source.nbytes, (model, source))
            if root.prepared.executor.segment is not None:
                source.lift()
            return root

        root = self._shared(key, source.content, device, make, work, in_use=True)
        return device.prepare(model, *options, deadline) if root is None else root.twin(device, preference, priority)

    def load(self, device, opened, deadline, work):
        """As prepare, for cache files (driver.cache.Opened). A small model is kept for a while after its last use: most
        programs that start with a cache have ended not long before."""
        key, head = _key(opened.signature, opened.token, device), np.frombuffer(opened.head, np.uint8)
        root = self._find(key, head)
        if root is None:
            if opened.facts.is_for_one:
                return opened.load(device, deadline)

            def make(own):
                prepared = opened.load(own, deadline)
                segment, more = prepared.executor.segment, opened.facts.data_length
                if segment is not None:
                    more -= segment.constant_bytes  # which the plan counts; the rest of the file stays beside them
                root = Root(prepared, head.nbytes + max(0, more))
                if own.budget is not None and segment is not None:
                    own.budget.take(root.nbytes, root, "prepare_from_cache: the model")
                return root

            root = self._shared(key, head, device, make, work)
            if root is None:
                return opened.load(device, deadline)
        place = root.places.get(key)
        if place is not None:
            if place.facts is not None:
                opened.facts = place.facts
            place.facts = opened.facts
        opened.read()  # a damaged data file is refused, as if nobody else used the model
        self.recent.keep(root)
        return root.twin(device, opened.facts.preference, opened.facts.priority)

    def stored(self, prepared, token, head, facts):
        """Note what the model file of a client's prepared model holds now: who loads it has the same root.
        Of the files that a model was put into, the last count; no two of them are the same."""
        root = getattr(prepared, "root", None)
        if root is None:
            return
        key = _key(signature_of(head), token, prepared.device)
        with self._lock:
            if root.stored_as is not None:
                self._drop(root.stored_as, root.places.pop(root.stored_as).reference)
            self._add(key, np.frombuffer(head, np.uint8), root, facts)
            root.stored_as = key
        self.recent.keep(root)

    def _shared(self, key, content, device, make, work, in_use=False):
        """The root of these bytes, an existing one or a new one, make(the server's device of the same options). None
        for a model that cannot be planned ahead. in_use: not one that is only kept, as `_find`.

        If another call is compiling the same model, this one waits for it, under its own deadline and cancellation. The
        compilation then also gets the turns of the waiting clients.
        """
        while True:
            root = self._find(key, content, in_use)
            if root is not None:
                return root
            with self._lock:
                making = self._making.get(key)
                if making is None:
                    mine = self._making[key] = _Making(work)
            if making is None:
                root = self._make(key, content, mine, device, make, in_use)
            else:
                with work.aside(), making.work.helped(work):
                    making.wait(work)
            if root is not None:
                return root
            if (making or mine).is_for_one:
                return None

    def _make(self, key, content, making, device, make, in_use):
        try:
            root = self._find(key, content, in_use)  # another call may have made it since the last look
            if root is None:
                own = self._device(device.precision).variant(without_passes=device.without_passes)
                root = make(own)
                if root.prepared.executor.segment is None:
                    making.is_for_one, root = True, None
                else:
                    with self._lock:
                        self._add(key, content, root)
            making.root = root
            return root
        finally:
            with self._lock:
                del self._making[key]
            making.done.set()

    def _find(self, key, content, in_use=False):
        """in_use: not one that is only kept. That is for those who have its files: nobody else learns by it what others
        have prepared before."""
        found = [root for reference in list(self._roots.get(key, ())) if (root := reference()) is not None]
        return next((root for root in found if _is_at(root, key, content) and
                     (root.users or not in_use or root not in self.recent)), None)

    def _add(self, key, content, root, facts=None):
        """For a caller that holds the lock."""
        reference = weakref.ref(root, lambda reference: self._drop(key, reference))
        root.places[key] = _Place(content, reference, facts)
        self._roots.setdefault(key, []).append(reference)

    def _drop(self, key, reference):
        """Remove a root that was collected. A weakref callback, which can run on any thread: must not take the lock."""
        references = self._roots.get(key)
        if references is not None and reference in references:
            references.remove(reference)
            if not references:
                self._roots.pop(key, None)


class _Place:
    """Where a root is found. content: bytes of the model, as an array; reference: to the root; facts: those of cache
    files, if any were decoded."""

    def __init__(self, content, reference, facts):
        self.content, self.reference, self.facts = content, reference, facts


class _Making:
    """A running compilation. is_for_one: its model cannot be shared."""

    def __init__(self, work):
        self.work, self.done, self.is_for_one = work, threading.Event(), False
        self.root = None  # held until the waiting calls have it

    def wait(self, work):
        """Wait for the end, successful or not. Raises if `work` must stop."""
        while not self.done.wait(max(0.0, min(LOOK_SECONDS, work.seconds_left))):
            work.check()


def _digests(content):
    """Of each part of the bytes."""
    found = []
    for at in range(0, content.nbytes, PART):
        found.append(_digest.of(content[at:at + PART]))
        pace.step()
    return tuple(found)


def _is_open(model):
    """Whether an input of a model, which was not checked yet, has an unknown shape: only executions can plan it."""
    operands = model.main.operands
    shapes = [operands[operand].shape for operand in model.main.inputs if 0 <= operand < len(operands)]
    return any(shape is None or None in shape for shape in shapes)


def _key(signature, token, device):
    """Of cache files: what differs where the same bytes are to be refused."""
    return signature, bytes(token), device.precision, device.without_passes


def _is_at(root, key, content):
    """Whether a root that was found under this key is of these bytes. It may have left the key since."""
    place = root.places.get(key)
    return place is not None and _same(place.content, content)


def _same(a, b):
    """Whether two arrays have equal bytes; compared in cache-sized pieces."""
    if a.nbytes != b.nbytes:
        return False
    for at in range(0, a.nbytes, PIECE):
        if a[at:at + PIECE].tobytes() != b[at:at + PIECE].tobytes():
            return False
        pace.step()
    return True
