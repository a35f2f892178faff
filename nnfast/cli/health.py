"""`nnfast health`: whether the driver's process answers, as an exit code for service managers and containers."""

import threading
import time

from .. import config
from ..errors import DeadObject, Error
from .output import Output, above_zero

LONGEST_SECONDS = 3600.0


def add_arguments(parser):
    parser.add_argument("--socket", metavar="PATH", help="of the driver's process (default: as nnfast serve)")
    parser.add_argument("--timeout", type=above_zero(LONGEST_SECONDS), default=5.0, metavar="SECONDS",
                        help="time that it has to answer (default 5)")
    Output.add_argument(parser)


def main(args):
    """A session begins, a call is answered, the session ends: exit code 0; else 1, with the reason on stdout."""
    from ..service.client.device import RemoteDevice

    output = Output(args.json)
    began = time.monotonic()
    found = {"healthy": False, "pid": None, "version": None, "answer_ms": None, "reason": None}
    try:
        device = RemoteDevice(args.socket or config.socket_path(), seconds=args.timeout)
        late = threading.Timer(max(0.0, began + args.timeout - time.monotonic()), device.close)
        late.start()
        try:
            answered = bool(device.capabilities.operands)
        finally:
            late.cancel()
            device.close()
        found |= {"healthy": answered, "pid": device.pid, "version": device.version,
                  "answer_ms": round(1e3 * (time.monotonic() - began), 2)}
        output.say(f"healthy: process {device.pid}, {device.version}, answered in {found['answer_ms']} ms")
    except DeadObject as error:
        found["reason"] = str(error)
    except Error as error:  # of another version, or full
        found["reason"] = f"{error.status.name}: {error}"
    if not found["healthy"]:
        output.say(f"not healthy: {found['reason']}")
    output.finish(found)
    return 0 if found["healthy"] else 1
