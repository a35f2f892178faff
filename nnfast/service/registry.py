"""Compiled models that several clients use: one set of packed weights, as long as anybody holds it.

A model is compiled once, for the server; every client gets a twin with the same programs and weights, and with
priorities, working memory and quota of its own. Two models are the same when their bytes are, compared one by one:
a checksum only says where to look.
"""

import threading
import weakref

from .._native.checksum import checksum
from ..driver.prepared import PreparedModel

PIECE = 1 << 18


class Root:
    """A model as the server has compiled it. source: its bytes; users: clients' twins, for the statistics."""

    def __init__(self, prepared, source, options):
        self.prepared, self.source, self.options = prepared, source, options
        self.users = weakref.WeakSet()

    def twin(self, device, priority):
        """A PreparedModel of a client's device over the same plan."""
        prepared = self.prepared
        preference, _, input_shapes, keep = prepared._options
        twin = PreparedModel.restored(device, prepared.model, (preference, priority, input_shapes, keep), None,
                                      prepared._static.shared, None)
        twin.root = self
        self.users.add(twin)
        return twin


class Registry:
    """The roots of one server, by precision and options of preparation. device(precision): the server's own Device."""

    def __init__(self, device):
        self._device, self._lock = device, threading.Lock()
        self._roots, self._making = {}, {}

    def roots(self):
        """Those in use."""
        return [root for references in list(self._roots.values()) for reference in list(references)
                if (root := reference()) is not None]

    def prepare(self, device, model, source, options, deadline, turn):
        """A PreparedModel for a client: a twin of what is there already, or of what is compiled now.

        Models that cannot be planned ahead, and those with vendor extensions, are compiled for each client. options:
        preference, priority, input_shapes and keep; turn(): a context for the work.
        """
        def make(where):
            with turn():
                return where.prepare(model, *options, deadline)

        if model.extensions:
            return make(device)
        preference, priority, *rest = options
        key = (checksum(source), source.nbytes, repr((preference, *rest, device.precision)))
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:  # whoever wants the same model meanwhile waits for it
            try:
                root = self._find(key, source)
                if root is None:
                    prepared = make(self._device(device.precision))
                    if prepared._static is not None:
                        root = Root(prepared, source, key[2])
                        self._add(key, root)
            finally:
                if key not in self._roots:
                    self._making.pop(key, None)
        return make(device) if root is None else root.twin(device, priority)

    def _find(self, key, source):
        found = [root for reference in list(self._roots.get(key, ())) if (root := reference()) is not None]
        return next((root for root in found if _same(root.source, source)), None)

    def _add(self, key, root):
        with self._lock:
            self._roots.setdefault(key, []).append(weakref.ref(root, lambda reference: self._drop(key, reference)))

    def _drop(self, key, reference):
        """A root has gone. Called by the collector, in any thread and at any time: it must not wait for the lock."""
        references = self._roots.get(key)
        if references is not None and reference in references:
            references.remove(reference)
            if not references:
                self._roots.pop(key, None)
                self._making.pop(key, None)


def _same(a, b):
    """Whether two arrays of equally many bytes have the same ones; a piece after the other, as they fit a cache."""
    return all(a[at:at + PIECE].tobytes() == b[at:at + PIECE].tobytes() for at in range(0, a.nbytes, PIECE))
