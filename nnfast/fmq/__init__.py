"""Fast message queues: rings in shared memory between two processes [NN 4.13], and the elements of bursts [NN 4.2].

    queue = fmq.MessageQueue.create(fmq.REQUEST_DATUM, 1024)
    ...                                         # queue.descriptor goes to the other process, its fds with SCM_RIGHTS
    there = fmq.MessageQueue.attach(descriptor, fmq.REQUEST_DATUM)
    reason = queue.write(elements, timeout=0.5)
    reason, elements = there.read(7, timeout=None, spin_us=50)
"""

from .._native.rings import NOT_EMPTY, NOT_FULL
from .descriptor import SYNCHRONIZED, UNSYNCHRONIZED_WRITE, Descriptor, Grantor
from .queue import MessageQueue
from .records import DATUM_BYTES, REQUEST_DATUM, RESULT_DATUM, RequestTag, ResultTag

__all__ = ["DATUM_BYTES", "NOT_EMPTY", "NOT_FULL", "REQUEST_DATUM", "RESULT_DATUM", "SYNCHRONIZED",
           "UNSYNCHRONIZED_WRITE", "Descriptor", "Grantor", "MessageQueue", "RequestTag", "ResultTag"]
