"""The last small model of a connection: whoever prepares a model has mostly asked about it before."""

import os

MOST_BYTES = 1 << 13
"""Of a model that is kept beyond its call; its client is charged for it until another one comes, or a release."""


class KeptModel:
    """Keeps one model as it was received. `find` and `keep` are for the connection's thread, `drop` for all."""

    def __init__(self):
        self._kept = None

    def find(self, fd):
        """(Model, Source) of a descriptor that holds the bytes of the kept model, else None."""
        kept = self._kept
        if kept is None:
            return None
        content = kept[1].content
        try:
            same = os.fstat(fd).st_size == content.nbytes and os.pread(fd, content.nbytes, 0) == content.tobytes()
        except OSError:
            return None  # whoever reads it next says why
        return kept if same else None

    def keep(self, model, source):
        """Keep this one in the place of another, if it is small; files are imported for the shapes of one call."""
        self._kept = (model, source) if source.content.nbytes <= MOST_BYTES and not source.is_file else None

    def drop(self):
        """Keep nothing."""
        self._kept = None
