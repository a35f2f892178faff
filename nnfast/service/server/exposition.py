"""What the server counts, in the text format of Prometheus (docs/service.md, version 0.0.4 of the format)."""

import os
import resource
import time
from collections import Counter

from ... import pace
from ...version import __version__
from ..wire.histogram import BUCKETS, upper_us
from .stats import resident_bytes

MOST_PROGRAMS, LONGEST_NAME = 32, 64
"""Rows of programs, and characters of their names: clients choose them, and each is a series that somebody stores."""

SHOWN_BUCKETS = range(3, 108, 4)
"""Buckets of durations that end at a power of two: 4 us to 268 s."""


class Exposition:
    """Families of samples, line by line."""

    def __init__(self):
        self._lines = []

    def add(self, name, kind, text, value):
        """A family. kind: counter or gauge; value: a number, None for no family, or [(labels as dict, number)]."""
        if value is None:
            return
        self._lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
        self._lines += [_sample(name, labels, number)
                        for labels, number in (value if isinstance(value, list) else [({}, value)])]

    def add_durations(self, name, text, counts):
        """A histogram in seconds of counts by bucket of wire.histogram. Its sum is that of the buckets' middles: within
        an eighth."""
        self._lines += [f"# HELP {name} {text}", f"# TYPE {name} histogram"]
        below, shown = 0, set(SHOWN_BUCKETS)
        for bucket, count in enumerate(counts):
            below += count
            if bucket in shown:
                self._lines.append(_sample(f"{name}_bucket", {"le": _number(upper_us(bucket) / 1e6)}, below))
        spent = sum(count * _MIDDLES[bucket] for bucket, count in enumerate(counts))
        self._lines += [_sample(f"{name}_bucket", {"le": "+Inf"}, below), _sample(f"{name}_sum", {}, spent / 1e6),
                        _sample(f"{name}_count", {}, below)]

    def text(self):
        """All lines, as bytes of UTF-8."""
        return ("\n".join(self._lines) + "\n").encode()


_MIDDLES = [((upper_us(bucket - 1) if bucket else 0) + upper_us(bucket)) / 2 for bucket in range(BUCKETS)]


def _sample(name, labels, number):
    inside = ",".join(f'{label}="{_escaped(value)}"' for label, value in labels.items())
    return f"{name}{{{inside}}} {_number(number)}" if inside else f"{name} {_number(number)}"


def _number(value):
    return str(value) if isinstance(value, int) else repr(float(value))


def _escaped(value):
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def program(path):
    """The name of a client's executable as a label: printable, short, and text of which UTF-8 can be made."""
    name = os.path.basename(path)[:LONGEST_NAME]
    return "".join(c if c.isprintable() else "?" for c in name)


def exposition(server):
    """The text for a server, as bytes. Makes a step (nnfast.pace) for each session, so that it can take turns."""
    made = Exposition()
    sessions = server.sessions()
    clients = {session.client for session in sessions}
    kinds, rows = Counter(), {}
    for session in sessions:
        pace.step()
        session.count_bursts()
        row = rows.setdefault((str(session.client.uid), program(session.executable)), [set(), 0])
        row[0].add(session.client)
        row[1] += session.in_flight
        kinds.update({kind: session.count(kind) for kind in ("prepared", "buffer", "memory", "stream", "fenced",
                                                            "burst")})
    made.add("nnfast_info", "gauge", "Version of the driver.", [({"version": __version__}, 1)])
    _add_work(made, server, sessions)
    made.add("nnfast_clients", "gauge", "Client processes.", len(clients))
    made.add("nnfast_sessions", "gauge", "Sessions (devices) of all clients.", len(sessions))
    made.add("nnfast_connections", "gauge", "Connections for calls.",
             sum(len(session.connections) for session in sessions))
    made.add("nnfast_sessions_opened_total", "counter", "Sessions since the start.", server.opened)
    made.add("nnfast_objects", "gauge", "Objects of clients.",
             [({"kind": kind}, count) for kind, count in sorted(kinds.items())])
    _add_programs(made, rows)
    _add_memory(made, server, clients)
    _add_process(made)
    return made.text()


def _add_work(made, server, sessions):
    made.add("nnfast_executions_total", "counter", "Executions that have ended.", server.latency.total)
    made.add_durations("nnfast_execution_seconds", "Time from the start of an execution to its end.",
                       server.latency.counts)
    made.add("nnfast_executions_in_flight", "gauge", "Executions of calls that run or wait.",
             sum(session.in_flight for session in sessions))
    made.add("nnfast_queue_waiting", "gauge", "What waits its turn: runs for cores, calls with long work for Python.",
             [({"queue": "cores"}, server.fair.waiting), ({"queue": "python"}, server.turns.waiting)])
    made.add("nnfast_cores", "gauge", "Cores that executions share.", server.fair.capacity)
    made.add("nnfast_threads_running", "gauge", "Threads of executions and of long calls, as the making of this text.",
             server.fair.running)
    made.add("nnfast_refusals_total", "counter", "Calls that were answered with an error, by its status.",
             [({"status": status}, count) for status, count in sorted(server.refusals.items())])
    made.add("nnfast_messages_refused_total", "counter", "Messages that broke the protocol, and refused connections.",
             server.refused)


def _add_programs(made, rows):
    """Clients by user and executable: as many rows as MOST_PROGRAMS, one without names for all others."""
    ordered = sorted(rows.items(), key=lambda row: -sum(client.budget.used for client in row[1][0]))
    named = [({"uid": uid, "executable": name}, *row) for (uid, name), row in ordered[:MOST_PROGRAMS]]
    if rest := [row for _, row in ordered[MOST_PROGRAMS:]]:
        clients = set().union(*(clients for clients, _ in rest))
        named.append(({"uid": "", "executable": ""}, clients, sum(in_flight for _, in_flight in rest)))
    made.add("nnfast_program_clients", "gauge", "Client processes, by user and executable.",
             [(labels, len(clients)) for labels, clients, _ in named])
    made.add("nnfast_program_executions_in_flight", "gauge", "Executions that run or wait, by user and executable.",
             [(labels, count) for labels, _, count in named])
    made.add("nnfast_program_memory_bytes", "gauge", "Memory that counts for clients, by user and executable.",
             [(labels, sum(client.budget.used for client in clients)) for labels, clients, _ in named])


def _add_memory(made, server, clients):
    made.add("nnfast_client_memory_bytes", "gauge", "Memory that counts for all clients; shared weights for each.",
             sum(client.budget.used for client in clients))
    if server.budget is not None:
        made.add("nnfast_memory_used_bytes", "gauge", "Memory that counts for --memory-limit.", server.budget.used)
        made.add("nnfast_memory_limit_bytes", "gauge", "--memory-limit.", server.budget.limit)
    roots = server.registry.roots()
    made.add("nnfast_models", "gauge", "Compiled models that clients share.", len(roots))
    made.add("nnfast_weights_bytes", "gauge", "Packed weights of these models.",
             sum(root.prepared.executor.segment.constant_bytes for root in roots))
    held = server.clients.in_use()
    made.add("nnfast_held", "gauge", "What is held for clients: descriptors, threads, mapped bytes.",
             [({"resource": name}, used) for name, (used, _) in held.items()])
    made.add("nnfast_held_limit", "gauge", "What can be held for clients.",
             [({"resource": name}, limit) for name, (_, limit) in held.items()])


def _add_process(made):
    """Under the names that Prometheus' own clients use."""
    made.add("process_cpu_seconds_total", "counter", "Processor time.", time.process_time())
    made.add("process_resident_memory_bytes", "gauge", "Resident memory.", resident_bytes())
    made.add("process_open_fds", "gauge", "Open descriptors.", len(os.listdir("/proc/self/fd")) - 1)
    made.add("process_max_fds", "gauge", "Descriptors that may be open.", resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    made.add("process_start_time_seconds", "gauge", "Start, in seconds since 1970.", _START)


def _started():
    """Seconds since 1970 at which this process began."""
    with open("/proc/self/stat", encoding="utf-8") as text:
        ticks = int(text.read().rpartition(")")[2].split()[19])
    return round(time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK"), 2)


_START = _started()
