"""Statistics of the server as JSON, for `nnfast top` and others (docs/service.md)."""

import json
import os
import time


def stats(server, asking):
    """One row per client and per shared model, and totals. asking: number of the session that asks."""
    sessions = server.sessions()
    clients = [_client(session) for session in sessions]
    return {
        "pid": os.getpid(), "asking": asking, "uptime_s": round(time.monotonic() - server.began, 3),
        "threads": server.options.threads, "cores": server.fair.capacity, "running": server.fair.running,
        "waiting": server.fair.waiting,
        "executions": server.latency.total, "latency_us": _percentiles(server.latency),
        "latency_counts": list(server.latency.counts),
        "memory_bytes": sum(client.budget.used for client in {session.client for session in sessions}),
        "memory_limit": None if server.budget is None else server.budget.limit,
        "memory_used": None if server.budget is None else server.budget.used,
        "resident_bytes": resident_bytes(), "held": server.clients.in_use(),
        "sessions_opened": server.opened, "messages_refused": server.refused,
        "clients": clients, "models": [_model(root) for root in server.registry.roots()],
    }


def stats_text(session):
    """stats for a client, as JSON text."""
    return json.dumps(stats(session.server, session.number))


def _client(session):
    client = session.client
    session.count_bursts()
    return {
        "session": session.number, "pid": client.pid, "uid": client.uid, "executable": session.executable,
        "age_s": round(time.monotonic() - session.began, 3), "connections": len(session.connections),
        "models": [_held(held) for held in session.held()],
        "buffers": session.count("buffer"), "memories": session.count("memory"), "streams": session.count("stream"),
        "fenced": session.count("fenced"), "bursts": session.count("burst"), "memory_bytes": client.budget.used,
        "descriptors": client.in_use("descriptors"), "threads": client.in_use("threads"),
        "mapped_bytes": client.in_use("mapped"),
        "in_flight": session.in_flight,
        "executions": session.latency.total, "failures": session.failures, "latency_us": _percentiles(session.latency),
        "latency_counts": list(session.latency.counts), "busy_ms": client.gate.used_ns // 1_000_000,
    }


def _held(held):
    return {"name": held.prepared.model.name, "priority": held.prepared.priority, "executions": held.runs.total,
            "best_us": held.runs.best_ns // 1000}


def _model(root):
    segment = root.prepared.executor.segment
    return {"name": root.prepared.model.name, "users": len(root.users), "weights_bytes": segment.constant_bytes,
            "arena_bytes": segment.arena_bytes}


def _percentiles(histogram):
    return {"p50": histogram.percentile(0.5), "p90": histogram.percentile(0.9), "p99": histogram.percentile(0.99)}


def resident_bytes():
    """Resident memory of this process (VmRSS)."""
    with open("/proc/self/statm") as text:
        return int(text.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
