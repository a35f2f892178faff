"""Frees long lists in small pieces: freeing one at once would hold the GIL for too long."""

import gc
import threading
import time
from queue import Empty, SimpleQueue

from ..._native.engine import trim

LARGE = 1000
"""Length from which a list is freed in pieces."""

PIECE = 256
TRIM_SECONDS = 1.0
"""Delay after which memory of former clients is returned to the system, in the next idle moment."""

COLLECT_SECONDS, LOOK_SECONDS = 60.0, 1.0
"""Least interval of garbage collections, and how often an idle moment is looked for once one is due."""

SOME, MANY = 20_000, 200_000
"""Objects that have survived young collections since the last full one: with SOME more, the next idle moment is for a
full one; with MANY more, any moment is. A collection stops every thread for about 0.3 us an object, those of models
included, and finds nothing as long as nothing leaves cycles behind.
"""

NEVER = 1 << 30


def lists_of(prepared):
    """Copies of the long lists of a PreparedModel: their holder frees the elements last."""
    model, segment = prepared.model, prepared.executor.segment
    parts = [part for graph in (model.main, *model.referenced) for part in (graph.operands, graph.operations)]
    if segment is not None:
        parts += [segment.rows, *(program.steps for program in segment.items if hasattr(program, "steps"))]
    return [list(part) for part in parts if len(part) >= LARGE]


class Sweeper:
    """A thread of the server that frees lists. is_idle(): whether no call runs now."""

    def __init__(self, is_idle):
        self._is_idle, self._queue, self._trims = is_idle, SimpleQueue(), False
        self._collects, self._left = False, 0  # old objects that the last collection left
        self._thread = threading.Thread(target=self._run, name="nnfast-sweeper", daemon=True)

    def start(self):
        """Begin."""
        self._thread.start()

    def stop(self):
        """End the thread."""
        self._queue.put(None)

    def take(self, lists):
        """Free long lists whose elements have no other references."""
        long = [one for one in lists if len(one) >= LARGE]
        if long:
            self._queue.put(long)

    def trim(self):
        """Return memory to the system soon, after a client is gone."""
        if not self._trims:
            self._trims = True
            self._queue.put(())

    def collect_garbage(self):
        """Run full garbage collections only in idle moments and for a reason from now on, as they stop every thread."""
        gc.collect()
        gc.freeze()
        gc.set_threshold(*gc.get_threshold()[:2], NEVER)
        self._collects = True

    def _run(self):
        last, lists = time.monotonic(), ()
        while lists is not None:
            for one in lists:
                while one:
                    del one[-PIECE:]
            lists = ()
            is_due = self._collects and time.monotonic() - last >= COLLECT_SECONDS
            if is_due and self._is_worth_it():
                gc.collect()
                self._left, last, is_due = _old_objects(), time.monotonic(), False
            try:
                lists = self._queue.get(timeout=TRIM_SECONDS if self._trims else LOOK_SECONDS if is_due else
                                        COLLECT_SECONDS if self._collects else None)
            except Empty:
                if self._trims and self._is_idle():
                    self._trims = False
                    trim()

    def _is_worth_it(self):
        more = _old_objects() - self._left
        return more >= MANY or more >= SOME and self._is_idle()


def _old_objects():
    """Number of objects that full collections look at and younger ones do not."""
    return len(gc.get_objects(generation=2))
