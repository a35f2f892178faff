"""docs/scale.md: its tables follow from the measured parts, and the simulation from what limits a cluster."""

import subprocess
import sys
from dataclasses import replace
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
spec = spec_from_file_location("scale_page", ROOT / "ci" / "scale_page.py")
scale = module_from_spec(spec)
sys.modules[spec.name] = scale
spec.loader.exec_module(scale)

FAST = scale.Cluster(8, 1e12, 1e12)


def test_the_page_is_of_its_parts(monkeypatch):
    command = [sys.executable, ROOT / "ci" / "scale_page.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    text = scale.PAGE.read_text(encoding="utf-8")
    monkeypatch.setattr(scale, "simulate", partial(scale.simulate, items=10_000))
    one, other = (scale.page(text, replace(scale.PARTS, chunk_command=times * scale.PARTS.chunk_command))
                  for times in (1, 2))
    assert one != other and one.count("\n") == other.count("\n") == text.count("\n")
    for first, second in zip(one.split("<!-- end -->")[:-1], other.split("<!-- end -->")):
        assert first != second  # each of the tables


def test_one_process_by_hand():
    parts = scale.Parts(item=2.0, chunk_worker=1.0, chunk_command=0.5, start=10.0, model_bytes=300, item_bytes=0,
                        result_bytes=10)
    found = scale.simulate(parts, scale.Cluster(1, 100.0, 1.0), chunk=3, items=8)
    # The model takes 3 s, the process starts 10 s; chunks of 3, 3 and 2 take 7, 7 and 5 s, one after the other, since
    # two are always submitted; the results of the last one take 0.2 s, to be kept 0.25 s.
    assert found.ready == 13
    assert found.seconds == pytest.approx(13 + 7 + 7 + 5 + 0.2 + 0.25)
    assert found.rate == pytest.approx(8 / found.seconds)


@pytest.mark.parametrize("name, change, cluster", [
    ("processors", {}, FAST._replace(processes=2)),
    ("command", {"chunk_command": 0.1}, FAST),
    ("link", {"result_bytes": 1e6}, FAST._replace(link=1e8)),
    ("storage", {"item_bytes": 1e6}, FAST._replace(storage=1e8)),
])
def test_rates_reach_the_limit_and_not_more(name, change, cluster):
    parts = replace(scale.PARTS, start=0.0, model_bytes=0.0, **change)
    allowed = scale.limits(parts, cluster, 16)
    assert min(allowed, key=allowed.get) == name
    found = scale.simulate(parts, cluster, 16, 100_000)
    assert 0.95 * allowed[name] < found.rate <= allowed[name] * (1 + 1e-9)


def test_a_model_is_sent_to_one_process_after_the_other():
    ready = [scale.simulate(replace(scale.PARTS, model_bytes=size), scale.Cluster(count, 1e8, 1e12), 64, 6400).ready
             - scale.PARTS.start for size, count in ((1e6, 4), (2e6, 4), (1e6, 8))]
    assert ready == pytest.approx([0.04, 0.08, 0.08])


@pytest.mark.parametrize("items", [1, 63, 64, 65, 1000])
def test_every_item_is_computed_once(items):
    parts = replace(scale.PARTS, item=1.0, chunk_worker=0.0, chunk_command=0.0, start=0.0, model_bytes=0.0,
                    item_bytes=0.0, result_bytes=0.0)
    found = scale.simulate(parts, scale.Cluster(1, 1.0, 1.0), 64, items)
    assert found.seconds == pytest.approx(items)
