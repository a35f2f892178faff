# cython: auto_pickle=False
# clang makes no atomic word of a Python number, which pickling would.
"""What processes share: memfds, message queues, packets, both ends of a burst, the driver's end of calls, counts."""

include "rings/memfd.pxi"
include "rings/fmq.pxi"
include "rings/packet_types.pxi"
include "rings/packet.pxi"
include "rings/counts.pxi"
include "rings/burst.pxi"
include "rings/burst_client.pxi"
include "rings/calls.pxi"
