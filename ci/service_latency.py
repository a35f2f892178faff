"""What a call to the driver's process costs beside a bare ping-pong over the same kind of socket, in turns in one run.

    python ci/service_latency.py [--rounds 5] [--calls 2000] [--json F]

The calls: a message without work, `run` of an ADD of one number, and `execute` of it on shared memory, of which the
driver has bound the request. Medians in microseconds; exit code 1 when a call takes more than 1.5 times the ping-pong
and 50 us.
"""

import argparse
import json
import os
import socket
import statistics
import sys
import tempfile
import time

import numpy as np

import nnfast
from nnfast import Memory, ModelBuilder, Request, RequestArgument
from nnfast.service.spawn import reach, start
from nnfast.service.wire import protocol

WARM = 200


def one_addition():
    """y = x + 1 for a single number."""
    b = ModelBuilder("ADD of one number")
    x, y = b.input("TENSOR_FLOAT32", (1,)), b.output("TENSOR_FLOAT32", (1,))
    return b.operation("ADD", [x, b.constant(np.ones(1, np.float32)), b.scalar(0)], [y]).build()


class PingPong:
    """A forked process that sends every packet back."""

    def __init__(self):
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = os.fork()
        if self._process == 0:
            self._ours.close()
            while packet := theirs.recv(1 << 16):
                theirs.send(packet)
            os._exit(0)
        theirs.close()

    def __call__(self):
        self._ours.send(bytes(64))
        self._ours.recv(1 << 16)

    def close(self):
        """End the other process."""
        self._ours.close()
        os.waitpid(self._process, 0)


def median_us(call, calls):
    """Median time of a call."""
    for _ in range(WARM):
        call()
    times = []
    for _ in range(calls):
        began = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - began)
    return statistics.median(times) / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--json", metavar="F")
    args = parser.parse_args()
    pingpong = PingPong()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "socket")
        process = start(path, "--threads", "1")
        try:
            device = reach(path, process)
            prepared, local = device.prepare(one_addition()), nnfast.Device(num_threads=1).prepare(one_addition())
            one = np.ones(1, np.float32)
            request = Request((RequestArgument(0, 0, 4),), (RequestArgument(1, 0, 4),),
                              (Memory.create(4), Memory.create(4)))
            ways = {"ping-pong": pingpong, "message": lambda: device._session.call(protocol.Ping()),
                    "run": lambda: prepared.run([one]), "execute": lambda: prepared.execute(request),
                    "run in this process": lambda: local.run([one]),
                    "execute in this process": lambda: local.execute(request)}
            rounds = [{name: median_us(call, args.calls) for name, call in ways.items()} for _ in range(args.rounds)]
            device.close()
        finally:
            process.terminate()
            process.wait()
            pingpong.close()
    found = {name: statistics.median(row[name] for row in rounds) for name in ways}
    most = 1.5 * found["ping-pong"] + 50
    for name, us in found.items():
        print(f"{name:<24} {us:8.1f} us   {min(r[name] for r in rounds):8.1f} to {max(r[name] for r in rounds):.1f}")
    print(f"{'allowed for a call':<24} {most:8.1f} us")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as stream:
            json.dump({"median_us": found, "allowed_us": most, "rounds": rounds}, stream, indent=1)
    return int(max(found["message"], found["run"], found["execute"]) > most)


if __name__ == "__main__":
    sys.exit(main())
