"""Cache of the model that a client sent last."""

import os
import weakref

from ..wire.models import pack


class LastModel:
    """Keeps the memfd of the last model sent, while that model lives: queries usually precede a preparation."""

    def __init__(self):
        self._kept = None

    def descriptor(self, model):
        """A duplicate of the memfd; the caller closes it."""
        kept = self._kept
        if kept is None or kept[0]() is not model:
            fd = _Descriptor(pack(model))
            kept = self._kept = (weakref.ref(model, self._forget), fd)
        return os.dup(kept[1].fd)

    def _forget(self, reference):
        if self._kept is not None and self._kept[0] is reference:
            self._kept = None


class _Descriptor:
    """Closes a descriptor when it is dropped."""

    def __init__(self, fd):
        self.fd = fd

    def __del__(self):
        os.close(self.fd)
