"""Compiled models shared by clients: one set of packed weights, as long as any client uses it.

A model is compiled once, for the server; every client gets a twin with the same programs and weights, but its own
preference, priority, working memory and quota: plans depend on neither of the first two. Two models are the same if all
their bytes are; a digest with a secret key only finds candidates.
"""

import os
import threading
import weakref

from ... import pace
from ..._native.codec import KEY_BYTES, KeyedDigest
from ...forks import renewed
from .turns import LOOK_SECONDS

PIECE = 1 << 18
PART = 1 << 25
"""Bytes of a model that are digested between two chances for other clients to work."""

_digest = KeyedDigest(os.urandom(KEY_BYTES))


class Root:
    """A model as compiled by the server. model: as received from the client; its objects are charged while it lives,
    and the prepared model uses most of them. source: its Source; users: twins of clients, for statistics."""

    def __init__(self, prepared, model, source, options):
        self.prepared, self.model, self.source, self.options = prepared, model, source, options
        self.users = weakref.WeakSet()

    def twin(self, device, preference, priority):
        """A PreparedModel of a client's device over the same plan."""
        twin = self.prepared.twin(device, preference, priority)
        twin.root = self
        if device.budget is not None:
            twin.charge = device.budget.share(self.source.nbytes, "prepare: the model")
        self.users.add(twin)
        return twin


class Registry:
    """The roots of one server, by precision and options of preparation. device(precision): the server's own Device."""

    def __init__(self, device):
        self._device, self._lock = device, renewed(threading.Lock())
        self._roots, self._making = {}, {}

    def roots(self):
        """Those in use."""
        return [root for references in list(self._roots.values()) for reference in list(references)
                if (root := reference()) is not None]

    def prepare(self, device, model, source, options, deadline, work):
        """A PreparedModel for a client: a twin of an existing root, or of one compiled now.

        Models that cannot be planned ahead, and those with vendor extensions, are compiled for each client. options:
        preference, priority, input_shapes and keep; work: turns.Work of the call.

        If another call is compiling the same model, this one waits for it, under its own deadline and cancellation. The
        compilation then also gets the turns of the waiting clients.
        """
        if model.extensions:
            return device.prepare(model, *options, deadline)
        preference, priority, *rest = options
        key = (_digests(source.content), source.content.nbytes,
               repr((*rest, device.precision, sorted(device.without_passes))))
        while True:
            root = self._find(key, source)
            if root is not None:
                return root.twin(device, preference, priority)
            with self._lock:
                making = self._making.get(key)
                if making is None:
                    mine = self._making[key] = _Making(work)
            if making is None:
                root = self._make(key, mine, device, model, source, options, deadline)
            else:
                with work.aside(), making.work.helped(work):
                    making.wait(work)
            if root is None and (making or mine).is_for_one:
                return device.prepare(model, *options, deadline)

    def _make(self, key, making, device, model, source, options, deadline):
        """The root of a model for clients with a device as this one; None for one that cannot be planned ahead."""
        try:
            root = self._find(key, source)  # another call may have made it since the last look
            if root is None:
                own = self._device(device.precision).variant(without_passes=device.without_passes)
                prepared = own.prepare(model, *options, deadline)
                if prepared.executor.segment is None:
                    making.is_for_one = True
                else:
                    source.lift()
                    root = Root(prepared, model, source, key[2])
                    self._add(key, root)
            making.root = root
            return root
        finally:
            with self._lock:
                del self._making[key]
            making.done.set()

    def _find(self, key, source):
        found = [root for reference in list(self._roots.get(key, ())) if (root := reference()) is not None]
        return next((root for root in found if _same(root.source.content, source.content)), None)

    def _add(self, key, root):
        with self._lock:
            self._roots.setdefault(key, []).append(weakref.ref(root, lambda reference: self._drop(key, reference)))

    def _drop(self, key, reference):
        """Remove a root that was collected. A weakref callback, which can run on any thread: must not take the lock."""
        references = self._roots.get(key)
        if references is not None and reference in references:
            references.remove(reference)
            if not references:
                self._roots.pop(key, None)


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


def _same(a, b):
    """Whether two arrays of the same size have equal bytes; compared in cache-sized pieces."""
    for at in range(0, a.nbytes, PIECE):
        if a[at:at + PIECE].tobytes() != b[at:at + PIECE].tobytes():
            return False
        pace.step()
    return True
