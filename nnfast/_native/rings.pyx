"""What two processes share: message queues, packets, both ends of a burst, the driver's end of calls, counts."""

include "rings/fmq.pxi"
include "rings/packet_types.pxi"
include "rings/packet.pxi"
include "rings/counts.pxi"
include "rings/burst.pxi"
include "rings/burst_client.pxi"
include "rings/calls.pxi"
