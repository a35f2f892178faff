"""`nnfast top`: a live table of the clients of a driver's process, and of the models that they share."""

import json
import os
import sys
import time

from ..service.wire.histogram import percentile
from .output import Output, above_zero, check_target, console, rich_table

WIDEST = 40
"""Characters of a name: at most, and where there is too little room for it."""


def add_arguments(parser):
    parser.add_argument("--socket", metavar="PATH", help="of the driver's process (default: as nnfast serve)")
    parser.add_argument("--interval", type=above_zero(1e6), default=1.0, metavar="SECONDS",
                        help="time between two tables (default 1)")
    parser.add_argument("--once", action="store_true", help="print one table, of all since the start, and exit")
    parser.add_argument("--json", metavar="FILE", help="also write what each table shows as a line of JSON ('-': to "
                                                       "stdout, instead)")


def main(args):
    from ..service.client.device import connect

    if args.json not in (None, "-"):
        check_target(args.json)
    device = connect(args.socket)
    try:
        if args.once:
            found = view(device.stats())
            output = Output(args.json)
            output.show(*tables(found))
            output.finish(found)
        else:
            follow(device, args)
    except KeyboardInterrupt:
        pass  # the way to end it
    finally:
        device.close()
    return 0


def follow(device, args):
    """A table for every interval, until the driver or the user ends it."""
    stream = open(args.json, "w", encoding="utf-8") if args.json not in (None, "-") else sys.stdout
    try:
        with _screen(args.json == "-") as show:
            before = None
            while True:
                now = device.stats()
                found = view(now, before)
                show(found)
                if args.json:
                    print(json.dumps(found, allow_nan=False), file=stream, flush=True)
                before = now
                time.sleep(args.interval)
    finally:
        if stream is not sys.stdout:
            stream.close()


class _screen:
    """Context whose value shows a view: in place on a terminal, else one below the other; not at all when silent."""

    def __init__(self, silent):
        self._silent, self._live = silent, None

    def __enter__(self):
        if self._silent:
            return lambda found: None
        out = console(sys.stdout)
        if not out.is_terminal:
            return lambda found: out.print(*tables(found))
        from rich.console import Group
        from rich.live import Live

        self._live = Live(console=out, screen=True, auto_refresh=False)
        self._live.start()
        return lambda found: self._live.update(Group(*tables(found)), refresh=True)

    def __exit__(self, *_):
        if self._live is not None:
            self._live.stop()


# -- what is shown -----------------------------------------------------------------------------------------------------
def view(now, before=None):
    """What a table shows of `stats`, as a dict: rates and latencies since an earlier one, else since the start.

    The session that asked is left out.
    """
    asking = now.pop("asking", None)
    known = {} if before is None else {client["session"]: client for client in before["clients"]}
    clients = [_client(client, known.get(client["session"]), now["uptime_s"], before)
               for client in now["clients"] if client["session"] != asking]
    clients.sort(key=lambda client: (-client["core_share"], client["session"]))
    total = _rates(now, before, now["uptime_s"] - (before["uptime_s"] if before else 0.0))
    keys = "pid", "uptime_s", "threads", "cores", "running", "waiting", "executions", "memory_bytes", "memory_limit", \
        "memory_used", "resident_bytes", "messages_refused"
    return {**{key: now[key] for key in keys}, **total, "since_start": before is None,
            "core_share": round(sum(client["core_share"] for client in clients), 4), "clients": clients,
            "models": sorted(now["models"], key=lambda model: (-model["weights_bytes"], model["name"]))}


def _client(client, earlier, uptime, before):
    spent = client["age_s"] if earlier is None else uptime - before["uptime_s"]
    busy = client["busy_ms"] - (earlier["busy_ms"] if earlier else 0)
    keys = "session", "pid", "uid", "executable", "age_s", "in_flight", "executions", "memory_bytes", "buffers"
    return {**{key: client[key] for key in keys}, **_rates(client, earlier, spent),
            "models": [model["name"] for model in client["models"]],
            "core_share": round(busy / 1e3 / max(spent, 1e-3), 4)}


def _rates(now, before, spent):
    """Executions per second and percentiles of their latency, of a client or of the whole."""
    counts = now["latency_counts"]
    if before is not None:
        counts = [max(0, new - old) for new, old in zip(counts, before["latency_counts"])]
    done = now["executions"] - (before["executions"] if before else 0)
    return {"per_second": round(done / max(spent, 1e-3), 2), "p50_us": percentile(counts, 0.5),
            "p99_us": percentile(counts, 0.99)}


def tables(found):
    """What is printed of a view: a line about the whole, the table of clients, that of models where
    there are any."""
    limit = "" if found["memory_limit"] is None else f" of {size(found['memory_limit'])}"
    from rich.text import Text

    title = f"driver {found['pid']}, up {duration(found['uptime_s'])}: {count(found['clients'], 'client')}, " \
            f"{number(found['per_second'])} executions/s, p50 {latency(found['p50_us'])}, p99 " \
            f"{latency(found['p99_us'])}; {found['core_share']:.2f} of {found['cores']} cores, " \
            f"{found['running']} run, {found['waiting']} wait; memory {size(found['memory_bytes'])}{limit}, " \
            f"resident {size(found['resident_bytes'])}; {found['messages_refused']} messages refused"
    since = "since the start of each client" if found["since_start"] else "since the last table"
    clients = as_table(
        {">process": [str(client["pid"]) for client in found["clients"]],
         "executable": [plain(os.path.basename(client["executable"])) for client in found["clients"]],
         "models": [names(client["models"]) for client in found["clients"]],
         ">in flight": [str(client["in_flight"]) for client in found["clients"]],
         ">executions/s": [number(client["per_second"]) for client in found["clients"]],
         ">p50": [latency(client["p50_us"]) for client in found["clients"]],
         ">p99": [latency(client["p99_us"]) for client in found["clients"]],
         ">memory": [size(client["memory_bytes"]) for client in found["clients"]],
         ">core %": [f"{100 * client['core_share']:.1f}" for client in found["clients"]]},
        ("models", "in flight", "core %", "p99", "memory", "executable"),
        f"rates and latencies {since}; memory: weights, working memory and buffers")
    models = as_table(
        {"model": [plain(model["name"]) for model in found["models"]],
         ">clients": [str(model["users"]) for model in found["models"]],
         ">weights": [size(model["weights_bytes"]) for model in found["models"]],
         ">working memory": [size(model["arena_bytes"]) for model in found["models"]]}, ("working memory",))
    return (Text(title, style="bold"), clients, *([models] if found["models"] else []))


def as_table(columns, order, caption=None):
    """A rich table of {name, as for rich_table: cells of plain text}."""
    from rich.text import Text

    rows = zip(*([Text(cell) for cell in cells] for cells in columns.values()))
    return rich_table(None, list(columns), rows, caption, order=order)


def count(things, name):
    """So many things of a name."""
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def names(models):
    """The names of models in short; one that is there several times is counted."""
    counts = {plain(name): models.count(name) for name in models}
    shown = [name if count == 1 else f"{name} x{count}" for name, count in sorted(counts.items())]
    text = ", ".join(shown[:2])
    return text if len(shown) <= 2 else f"{text}, {len(shown) - 2} more"


def plain(name):
    """A name that somebody else has chosen, as harmless text of one line."""
    text = "".join(c if c.isprintable() else "?" for c in name) or "?"
    return text if len(text) <= WIDEST else f"{text[:WIDEST - 3]}..."


def number(value):
    """A rate, with as many figures as mean something."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def latency(us):
    """A duration in us or ms."""
    return "-" if not us else f"{us:,} us" if us < 1000 else f"{us / 1e3:,.1f} ms"


def size(nbytes):
    """Bytes in KiB or MiB."""
    return f"{nbytes / 1024:,.0f} KiB" if nbytes < 1 << 20 else f"{nbytes / (1 << 20):,.1f} MiB"


def duration(spent):
    """Seconds as h:mm:ss."""
    whole = int(spent)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
