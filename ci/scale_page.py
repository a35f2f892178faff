"""Writes the tables and the figure of docs/scale.md: `nnfast batch` on many machines, simulated from measured parts.

    python ci/scale_page.py [--check]

PARTS holds what ci/batch_scaling.py and the commands named on the page gave; everything else follows from it. The
simulation follows each chunk: it is submitted by the command, waits for a worker process, reads its items from the
storage, is computed, sends its results over the link of the command's machine, and is kept by the command. Link,
storage and command each serve one chunk after the other. Before that the scheduler sends the model over the same link
to one process after the other, and each one imports and compiles.
"""

import argparse
import heapq
import re
from collections import deque
from dataclasses import dataclass, replace
from math import ceil, log10
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont

PAGE = Path(__file__).resolve().parents[1] / "docs" / "scale.md"
FIGURE = PAGE.with_suffix(".png")
ROUNDS = 2
"""Chunks that each process has at once (nnfast.distributed.ROUNDS)."""
ITEMS = 1_000_000
PROCESSES = 8
"""Worker processes of a machine, of one thread each."""
GBIT = 1e9 / 8


@dataclass(frozen=True)
class Parts:
    """Seconds and bytes, measured. item: processor time of an item on a worker; chunk_worker, chunk_command: of a chunk
    beside its items, on its worker, and of the command with the scheduler, the file of the chunk included; start: from
    the model's arrival at a process to its first item."""

    item: float
    chunk_worker: float
    chunk_command: float
    start: float
    model_bytes: float
    item_bytes: float
    result_bytes: float


PARTS = Parts(item=2.02e-3, chunk_worker=2.3e-3, chunk_command=4.2e-3, start=1.0, model_bytes=497e3, item_bytes=32.8e3,
              result_bytes=1001)
MEASURED = {1: 579.0, 2: 943.0}
"""Processors -> items per second: one process of one thread, and --workers 2; for the figure."""


class Cluster(NamedTuple):
    """processes: of all machines; link, storage: bytes per second of the command's machine, and of what holds the
    inputs."""

    processes: int
    link: float
    storage: float


class Outcome(NamedTuple):
    """seconds: of the whole run; ready: until the last process can compute; rate: items per second of the whole run."""

    seconds: float
    ready: float
    rate: float


def limits(parts, cluster, chunk):
    """{what limits: items per second that it allows}."""
    return {"processors": cluster.processes / (parts.item + parts.chunk_worker / chunk),
            "command": chunk / parts.chunk_command, "link": cluster.link / parts.result_bytes,
            "storage": cluster.storage / parts.item_bytes}


class _Server:
    """Serves one after the other."""

    def __init__(self):
        self.free = 0.0

    def serve(self, now, seconds):
        """When a request that comes now is done."""
        self.free = max(self.free, now) + seconds
        return self.free


def simulate(parts, cluster, chunk, items=ITEMS):
    """The Outcome of a run."""
    link, storage, command = _Server(), _Server(), _Server()
    shares = deque([chunk] * (items // chunk) + [items % chunk] * (items % chunk > 0))
    count, done = len(shares), []
    events = [(link.serve(0.0, parts.model_bytes / cluster.link) + parts.start, 0, "idle", 0)
              for _ in range(cluster.processes)]
    ready, number = events[-1][0], 0
    submitted, idle = deque(), 0
    for _ in range(min(count, ROUNDS * cluster.processes)):
        number += 1
        heapq.heappush(events, (command.serve(0.0, parts.chunk_command / 2), number, "submitted", shares.popleft()))
    while len(done) < count:
        now, _, what, share = heapq.heappop(events)
        if what == "submitted":
            submitted.append(share)
        elif what == "computed":
            number += 2
            heapq.heappush(events, (link.serve(now, share * parts.result_bytes / cluster.link), number, "come", share))
            heapq.heappush(events, (now, number + 1, "idle", 0))
        elif what == "come":
            kept = command.serve(now, parts.chunk_command / 2)
            done.append(kept)
            if shares:
                number += 1
                then = command.serve(kept, parts.chunk_command / 2)
                heapq.heappush(events, (then, number, "submitted", shares.popleft()))
        else:
            idle += 1
        while idle and submitted:
            idle, share, number = idle - 1, submitted.popleft(), number + 1
            read = storage.serve(now, share * parts.item_bytes / cluster.storage)
            computed = max(read, now + parts.chunk_worker + share * parts.item)
            heapq.heappush(events, (computed, number, "computed", share))
    return Outcome(done[-1], ready, items / done[-1])


# -- the page ----------------------------------------------------------------------------------------------------------
MACHINES = (1, 4, 16, 64)
HEAVY = 10
"""Times the processor time of PARTS, for a network of the size of ResNet-50."""


def machine_names():
    return " | ".join(f"{n} machine{'s' * (n > 1)}" for n in MACHINES)


def chunk_table(parts):
    """Rate by chunk, work of an item, link and machines."""
    lines = [f"| item | link | chunk | {machine_names()} | limit of the last |",
             "| --- | ---: | ---: |" + " ---: |" * len(MACHINES) + " --- |"]
    for times in (1, HEAVY):
        own = replace(parts, item=parts.item * times)
        for gbit in (1, 10):
            for chunk in (16, 64, 256):
                cells = []
                for machines in MACHINES:
                    cluster = Cluster(machines * PROCESSES, gbit * GBIT, 10 * gbit * GBIT)
                    found = simulate(own, cluster, chunk)
                    share = found.rate * own.item / cluster.processes
                    cells.append(f"{found.rate:,.0f} ({share:.0%})")
                allowed = limits(own, cluster, chunk)
                lines.append(f"| {1e3 * own.item:.1f} ms | {gbit} Gbit/s | {chunk} | {' | '.join(cells)} | "
                             f"{min(allowed, key=allowed.get)} |")
    return "\n".join(lines)


def model_table(parts):
    """Seconds until all processes can compute, and of the whole run, by size of the model."""
    lines = [f"| model | link | {machine_names()} |",
             "| ---: | ---: |" + " ---: |" * len(MACHINES)]
    for megabytes in (0.5, 20, 500):
        own = replace(parts, item=parts.item * HEAVY, model_bytes=1e6 * megabytes)
        for gbit in (1, 10):
            cells = []
            for machines in MACHINES:
                found = simulate(own, Cluster(machines * PROCESSES, gbit * GBIT, 10 * gbit * GBIT), 64)
                cells.append(f"{found.ready:,.1f} of {found.seconds:,.0f} s")
            lines.append(f"| {megabytes:g} MB | {gbit} Gbit/s | {' | '.join(cells)} |")
    return "\n".join(lines)


def parts_table(parts):
    return "\n".join([
        "| part | measured |", "| --- | ---: |",
        f"| an item on a worker: decode, prepare, run | {1e3 * parts.item:.2f} ms |",
        f"| a chunk beside its items, on its worker | {1e3 * parts.chunk_worker:.1f} ms |",
        f"| a chunk, command and scheduler: submit, collect, keep | {1e3 * parts.chunk_command:.1f} ms |",
        f"| start of a process: import, compile | {parts.start:.1f} s |",
        f"| the model | {parts.model_bytes / 1e6:.1f} MB |",
        f"| an item on the storage | {parts.item_bytes / 1e3:.0f} kB |",
        f"| the results of an item | {parts.result_bytes / 1e3:.1f} kB |"])


def page(text, parts):
    """The page with the tables of these parts between its markers."""
    for name, content in (("parts", parts_table), ("chunks", chunk_table), ("models", model_table)):
        text, count = re.subn(rf"(<!-- {name} -->\n).*?(\n<!-- end -->)",
                              lambda found, content=content: found[1] + content(parts) + found[2], text, flags=re.S)
        if count != 1:
            raise SystemExit(f"{PAGE}: has no part {name}")
    return text


WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 900, 460, 80, 48, 250, 50
COLOURS = {16: "#c98a2b", 64: "#1b7f5c", 256: "#4a86c5"}


def plot(parts, measured, path):
    """Items per second by worker processes, both logarithmic: simulated lines, measured dots."""
    counts = [2 ** k for k in range(10)]
    most = counts[-1] / parts.item
    least = 0.7 / parts.item

    def at(count, rate):
        x = LEFT + (WIDTH - LEFT - RIGHT) * log10(count) / log10(counts[-1])
        return x, HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * log10(rate / least) / log10(most / least)

    image = Image.new("RGB", (WIDTH, HEIGHT), "white")
    draw, small, large = ImageDraw.Draw(image), ImageFont.load_default(12), ImageFont.load_default(17)
    draw.text((16, 12), f"Items per second by worker processes, items of {1e3 * parts.item:.1f} ms", "#222222", large)
    for count in counts:
        x, _ = at(count, least)
        draw.line((x, TOP, x, HEIGHT - BOTTOM), "#eeeeee")
        draw.text((x - 8, HEIGHT - BOTTOM + 8), str(count), "#222222", small)
    for power in range(ceil(log10(least)), int(log10(most)) + 1):
        _, y = at(1, 10 ** power)
        draw.line((LEFT, y, WIDTH - RIGHT, y), "#dddddd")
        draw.text((12, y - 8), f"{10 ** power:,}", "#222222", small)
    draw.line((*at(1, 1 / parts.item), *at(counts[-1], most)), "#999999")
    draw.text((WIDTH - RIGHT + 12, TOP), "grey: as many times one", "#777777", small)
    for place, (chunk, colour) in enumerate(COLOURS.items()):
        line = [at(n, simulate(parts, Cluster(n, GBIT, 10 * GBIT), chunk).rate) for n in counts]
        draw.line(line, colour, 3, "curve")
        draw.text((WIDTH - RIGHT + 12, TOP + 22 * (place + 1)), f"chunks of {chunk}, simulated", colour, small)
    for count, rate in measured.items():
        x, y = at(count, rate)
        draw.ellipse((x - 5, y - 5, x + 5, y + 5), "#222222")
    draw.text((WIDTH - RIGHT + 12, TOP + 88), "dots: measured, chunks of 64", "#222222", small)
    image.save(path, optimize=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if the page is of other parts")
    a = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    made = page(text, PARTS)
    if a.check:
        raise SystemExit(f"{PAGE}: is not what its parts give; run ci/scale_page.py" if made != text else 0)
    PAGE.write_text(made, encoding="utf-8")
    plot(PARTS, MEASURED, FIGURE)


if __name__ == "__main__":
    main()
