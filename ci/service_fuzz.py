"""Fuzz of the driver's process: control messages and burst packets, valid, mutated and random; the same for a seed.

    python ci/service_fuzz.py [--messages 1000000] [--sockets 100000] [--packets 10000000] [--seed 1] [--json FILE]

`messages` are decoded and answered by a server in this process without sockets between, for volume; `sockets` go to a
running `nnfast serve` through its socket, in its hello, on events and on call connections, while a client beside it
compares results; `packets` go through the queues of bursts, whose counters are spoilt now and then. Fails when the
driver dies or does not answer for a minute, when it meets an internal error, when the client beside it sees anything
wrong, or when memory, descriptors or threads do not come back.
"""

import argparse
import faulthandler
import gc
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
from line import Line, plug

import nnfast
from nnfast import Memory
from nnfast._native.rings import build_request
from nnfast.errors import Error, ErrorStatus, InvalidArgument
from nnfast.fmq import REQUEST_DATUM, RESULT_DATUM, MessageQueue
from nnfast.fuzz.messages import Messages
from nnfast.model.records import encode
from nnfast.service.server.connection import Connection
from nnfast.service.server.listening import listen
from nnfast.service.server.quotas import Quotas
from nnfast.service.server.server import Options, Server
from nnfast.service.wire import protocol
from nnfast.service.wire.channel import Channel, Malformed, decode
from nnfast.service.wire.protocol import FROM_SERVER, Failure
from nnfast.stress.driver import REST_SECONDS, Driver, State

MODEL = Path(nnfast.__file__).parent / "data" / "digits_int8.tflite"
STALLED_SECONDS = 60
SESSION_MESSAGES = 20_000
"""Messages after which a session is replaced by a new one."""

BATCH = 40
"""Messages on one connection."""

CLIENT_MEMORY = 64 << 20
SPOILT = 0.0005
"""Share of packets after which a counter of their queue gets a value that cannot be."""

ODD = (0, 1, 2, 3, 64, 1 << 31, (1 << 32) - 1)


class Tally:
    """Counts answers by class, and keeps texts of internal errors."""

    def __init__(self):
        self.classes, self.internal, self.sent = Counter(), Counter(), 0

    def add(self, answer):
        if type(answer) is not Failure:
            self.classes[type(answer).__name__] += 1
            return
        self.classes[f"Failure {ErrorStatus(answer.status).name}"] += 1
        if "internal error" in answer.text:
            self.internal[answer.text[:200]] += 1

    def show(self, title, spent):
        print(f"{title}: {self.sent} messages, {self.sent / max(spent, 1e-9):.0f}/s, {sum(self.classes.values())} "
              f"answers: {dict(self.classes.most_common())}", flush=True)


def alive():
    """Something has happened: the watchdog waits anew."""
    faulthandler.dump_traceback_later(STALLED_SECONDS, exit=True)


# -- without sockets ---------------------------------------------------------------------------------------------------
class Direct:
    """Stands for the channel of a connection: gives one message, and takes the answers."""

    def __init__(self, tally):
        self.tally, self.message, self.last, self.sender = tally, None, None, 0

    def receive(self, decoder, fds):
        data, given = self.message
        fds += [os.dup(fd) for fd in given]
        return decode(decoder, data)

    def fileno(self):
        """None: nothing is received natively."""
        return -1

    def take_by(self, receive, buffer):
        """As Channel.take_by; messages come as they are told here."""

    def send(self, message, fds=()):
        encode(message)
        self.tally.add(message)
        self.last = message

    def unread(self):
        """Whoever sends has read the answer."""
        return 0

    def close(self):
        """Nothing is open."""


def ask_directly(connection, channel, message, fds):
    """The answer to a message."""
    channel.message = encode(message), fds
    connection.serve_one()
    return channel.last


def settled(server):
    """What still counts when no client is there any more, and what it held has had time to go."""
    until = time.monotonic() + STALLED_SECONDS
    while (held := {name: used for name, (used, _) in server.clients.in_use().items() if used}) and \
            time.monotonic() < until:
        gc.collect()
        time.sleep(0.01)
    return held


def fuzz_directly(a, seed):
    """Messages to a server in this process, one by one; Tally."""
    tally, random = Tally(), Random(seed)
    messages = Messages(random, nnfast.load(MODEL))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s")
        server = Server([listen(path)], Options(1, quotas=Quotas(memory=CLIENT_MEMORY)))
        thread = threading.Thread(target=server.serve, daemon=True)
        thread.start()
        slowest = 0.0, None
        while tally.sent < a.messages:
            device = nnfast.connect(path)
            while not server.sessions():
                time.sleep(0.001)
            channel = Direct(tally)
            connection = Connection(server.sessions()[-1], channel)
            known = messages.begin(partial(ask_directly, connection, channel))
            for count in range(min(SESSION_MESSAGES, a.messages - tally.sent)):
                if count % 1000 == 0:
                    alive()
                channel.message = messages.draw(known)
                began = time.perf_counter()
                connection.serve_one()
                tally.sent += 1
                spent = time.perf_counter() - began
                if spent > slowest[0]:
                    slowest = spent, channel.message[0][:60]
            device.close()
            while server.sessions():
                time.sleep(0.001)
            connection.release()
            del connection
            held = settled(server)
            if held:
                raise AssertionError(f"still counted without clients: {held}")
        server.stop()
        thread.join(STALLED_SECONDS)
    messages.close()
    print(f"slowest message {slowest[0] * 1e3:.1f} ms: {slowest[1]}")
    return tally


# -- through sockets ---------------------------------------------------------------------------------------------------
def exchange(channel, packets, tally):
    """Send packets on a connection that ends with them, and count the answers."""
    sock = channel.socket
    sock.setblocking(False)
    poll, left = select.poll(), list(reversed(packets))
    poll.register(sock, select.POLLIN | select.POLLOUT)
    while True:
        ready = poll.poll(STALLED_SECONDS * 1000)
        if not ready:
            raise TimeoutError(f"no answer for {STALLED_SECONDS} s")
        if ready[0][1] & (select.POLLIN | select.POLLHUP | select.POLLERR):
            fds = []
            try:
                answer = channel.receive(FROM_SERVER, fds)
            except BlockingIOError:
                continue
            except OSError:
                return  # it was cut off, as may happen to such a client
            finally:
                for fd in fds:
                    os.close(fd)
            if answer is None:
                return
            tally.add(answer)
        elif left:
            data, fds = left.pop()
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack(f"{len(fds)}i", *fds))] if fds else []
            try:
                sock.sendmsg([data], ancillary, socket.MSG_NOSIGNAL)
                tally.sent += 1
            except BlockingIOError:
                left.append((data, fds))
            except OSError:
                left.clear()
            if not left:
                poll.modify(sock, select.POLLIN)
                try:
                    sock.shutdown(socket.SHUT_WR)
                except OSError:
                    return


def fuzz_hello(path, messages, tally):
    """Mutated and random first messages, each on a connection of its own."""
    random = messages.random
    hello = encode(protocol.Hello(protocol.MAGIC, protocol.VERSION, random.choice(("events", "calls")),
                                           random.randrange(9), bytes(16)))
    data = random.choice((messages.mutate_bytes, messages.mutate_tree, lambda data: random.randbytes(40)))(hello)
    with plug(path) as sock:
        exchange(Channel(sock), [(data, messages._descriptors())], tally)


def fuzz_sockets(a, seed, driver):
    """Messages to a driver's process; Tally."""
    tally = Tally()
    messages = Messages(Random(seed), nnfast.load(MODEL))
    while tally.sent < a.sockets:
        line = Line(driver.path, STALLED_SECONDS)
        known = messages.begin(line.ask)
        until = tally.sent + min(SESSION_MESSAGES, a.sockets - tally.sent)
        while tally.sent < until:
            alive()
            if messages.random.random() < 0.2:
                fuzz_hello(driver.path, messages, tally)
            else:
                exchange(line.open("calls"), [messages.draw(known) for _ in range(BATCH)], tally)
        exchange(line.events, [messages.draw(known) for _ in range(5)], tally)
        line.close()
        if not driver.is_running():
            raise RuntimeError("the driver's process has ended")
    messages.close()
    return tally


# -- bursts ------------------------------------------------------------------------------------------------------------
class Bursts:
    """Bursts of one model whose client writes what it likes."""

    def __init__(self, seed):
        self.random = Random(seed)
        self.prepared = nnfast.Device(num_threads=1).prepare(nnfast.load(MODEL))
        sizes = [int(np.prod(info.shape)) * np.dtype(info.dtype).itemsize
                 for info in (self.prepared.inputs[0], self.prepared.outputs[0])]
        self.memories = [Memory.create(max(sizes)), Memory.create(max(sizes)), Memory.create(1), _unsealed(max(sizes))]
        valid = [np.frombuffer(build_request([(False, 0, 0, sizes[0], ())], [(False, 1, 0, sizes[1], ())],
                                             slots, measure), REQUEST_DATUM)
                 for slots in ([0, 1], [0, 2], [3, 1], [4, 1]) for measure in (False, True)]
        self.packets = [self._mutated(self.random.choice(valid)) for _ in range(20000)] + valid * 500
        self.answers, self.closed, self.sent = Counter(), 0, 0

    def get_memories(self, slots):
        """Some exist, some cannot be used, some are refused."""
        if any(not 0 <= slot < len(self.memories) for slot in slots):
            raise InvalidArgument(f"there are no slots {slots}")
        return [self.memories[slot] for slot in slots]

    def _mutated(self, packet):
        random, packet = self.random, packet.copy()
        words = packet.view(np.uint32).reshape(-1, 6)
        for _ in range(random.choice((1, 1, 2))):
            at = random.randrange(len(packet))
            match random.randrange(6):
                case 0:
                    packet = np.delete(packet, at)
                case 1:
                    packet = np.insert(packet, at, packet[random.randrange(len(packet))])
                case 2:
                    packet["tag"][at] = random.choice((*range(8), 255))
                case 3:
                    packet = packet[:at + 1].copy()
                case _:
                    words[at, random.randrange(6)] = random.choice(ODD)
            if not len(packet):
                return np.frombuffer(random.randbytes(24), REQUEST_DATUM)
            words = packet.view(np.uint32).reshape(-1, 6)
        return packet

    def run(self, count):
        """Send so many packets, each after the answer to the one before."""
        while self.sent < count:
            alive()
            self._run_one_burst(min(count - self.sent, 5000))
            self.closed += 1

    def _run_one_burst(self, count):
        requests, results = MessageQueue.create(REQUEST_DATUM, 32), MessageQueue.create(RESULT_DATUM, 32)
        burst = self.prepared.configure_burst(self.get_memories, requests.descriptor, results.descriptor, 200)
        try:
            for packet in self.random.choices(self.packets, k=count):
                if requests.write(packet) != "ok":
                    self.answers["does not fit"] += 1
                    continue
                self.sent += 1
                if results.wait_readable(1, STALLED_SECONDS if burst.is_alive() else 0.01, 200) != "ok":
                    self.answers["ended"] += 1
                    return
                status, answer = results.read(results.readable())
                self.answers[ErrorStatus(answer["packetInformation"]["errorStatus"][0]).name] += 1
                if self.random.random() < SPOILT:
                    self._spoil(requests)
                    requests.write(packet)  # who knows whether an answer comes; the burst must end all the same
                    results.wait_readable(1, 0.002)
                    self.answers["counters spoilt"] += 1
                    return
        finally:
            burst.close()
            requests.close()
            results.close()

    def _spoil(self, queue):
        """A counter that cannot be."""
        grantor = queue.descriptor.grantors[self.random.randrange(2)]
        os.pwrite(queue.descriptor.fds[grantor.fd_index],
                  struct.pack("<Q", self.random.choice((1, 24, 1 << 63, self.random.getrandbits(64)))), grantor.offset)
        queue.wake(3)


def _unsealed(size):
    fd = os.memfd_create("unsealed")
    try:
        os.ftruncate(fd, size)
        return Memory("ashmem", fd, size)
    finally:
        os.close(fd)


# -- the whole ---------------------------------------------------------------------------------------------------------
def beside(path, seed):
    """A well-behaved client in a process of its own, as in the soak."""
    command = [sys.executable, str(Path(__file__).with_name("service_soak.py")), "--role", "client", "--socket", path,
               "--seed", str(seed), "--small"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


def told(process):
    """(results compared, wrong ones) of it; None when it has failed."""
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=STALLED_SECONDS)
    if process.returncode:
        return None
    found = json.loads(out.splitlines()[-1])
    return sum(map(len, found["times"].values())), found["wrong"]


def messages_directly(a, problems):
    if not a.messages:
        return {}
    small = argparse.Namespace(messages=min(2000, a.messages))
    fuzz_directly(small, a.seed + 1)  # what stays after a first use is no leak
    gc.collect()
    before, began = State.of(os.getpid()), time.monotonic()
    tally = fuzz_directly(a, a.seed)
    tally.show("without sockets", time.monotonic() - began)
    time.sleep(REST_SECONDS)
    gc.collect()  # of the clients' side
    after = State.of(os.getpid())
    print(f"this process before: {before}; after: {after}")
    problems += [*after.problems(before), *tally.internal]
    return tally.classes


def messages_through_sockets(a, problems):
    if not a.sockets:
        return {}
    with Driver("--client-memory", CLIENT_MEMORY) as driver:
        fuzz_sockets(argparse.Namespace(sockets=min(500, a.sockets)), a.seed + 1, driver)
        before = driver.settled()
        client, began = beside(driver.path, a.seed), time.monotonic()
        tally = fuzz_sockets(a, a.seed, driver)
        tally.show("through sockets", time.monotonic() - began)
        seen = told(client)
        after = driver.settled(before)
        print(f"client beside: {'failed' if seen is None else f'{seen[0]} results, {seen[1]} wrong'}; "
              f"driver before: {before}; after: {after}")
        problems += [*after.problems(before), *tally.internal]
        if seen is None or seen[1] or not seen[0]:
            problems.append("the client beside it was disturbed")
        if driver.end():
            problems.append("the driver did not end as it should")
        problems += driver.said()[:10]
    return tally.classes


def burst_packets(a, problems):
    if not a.packets:
        return {}
    bursts = Bursts(a.seed)
    bursts.run(min(2000, a.packets))
    before, began, bursts.sent = State.of(os.getpid()), time.monotonic(), 0
    bursts.run(a.packets)
    spent = time.monotonic() - began
    after = State.of(os.getpid())
    print(f"burst packets: {bursts.sent}, {bursts.sent / spent:.0f}/s in {bursts.closed} bursts: "
          f"{dict(bursts.answers.most_common())}")
    print(f"this process before: {before}; after: {after}")
    problems += after.problems(before)
    return bursts.answers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--sockets", type=int, default=100_000)
    parser.add_argument("--packets", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", metavar="FILE")
    a = parser.parse_args()
    problems, counts = [], {}
    for step in (messages_directly, messages_through_sockets, burst_packets):
        try:
            counts[step.__name__] = dict(step(a, problems))
        except (OSError, RuntimeError, TimeoutError, Malformed, Error) as error:
            problems.append(f"{step.__name__}: {type(error).__name__}: {error}")
    faulthandler.cancel_dump_traceback_later()
    if a.json:
        Path(a.json).write_text(json.dumps({"answers": counts, "problems": problems}))
    for problem in problems:
        print(f"service_fuzz: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
