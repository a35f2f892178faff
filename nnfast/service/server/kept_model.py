"""The last small model of a connection: whoever prepares a model has mostly asked about it before."""

import os

MOST_BYTES = 1 << 15
"""Of a model that is kept beyond its call; its client is charged for it until another one comes."""


class KeptModel:
    """Keeps one model as it was received. Used by the connection's thread alone."""

    def __init__(self):
        self._model = self._source = None

    def find(self, fd):
        """(Model, Source) of a descriptor that holds the bytes of the kept model, else None."""
        if self._source is None:
            return None
        content = self._source.content
        try:
            same = os.fstat(fd).st_size == content.nbytes and os.pread(fd, content.nbytes, 0) == content.tobytes()
        except OSError:
            return None  # whoever reads it next says why
        return (self._model, self._source) if same else None

    def keep(self, model, source):
        """Keep this one in the place of another, if it is small; files are imported for the shapes of one call."""
        self._model = self._source = None
        if source.content.nbytes <= MOST_BYTES and not source.is_file:
            self._model, self._source = model, source

    def drop(self):
        """Keep nothing."""
        self._model = self._source = None
