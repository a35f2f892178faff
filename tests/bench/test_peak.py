"""The measurement of the machine's limits: what is measured, on which memory, and what is made of it."""

import pytest

from nnfast._native import bench, kernels
from nnfast.bench import peak as limits


@pytest.fixture
def level():
    yield kernels.set_level
    kernels.set_level(None)


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(limits, "TARGET_NS", 20_000)
    monkeypatch.setattr(limits, "LARGEST", 1 << 20)


def test_rows_follow_the_level_in_force(level):
    known = kernels.levels()
    for last, name in enumerate(known[:known.index("avxvnni") + 1] if "avxvnni" in known else known[:2]):
        level(name)
        assert {row["isa"] for row in bench.peak_rows()} == set(known[:last + 1])
    level(None)
    aside = set() if kernels.detected() == "avxvnni" else {"avxvnni"}       # no level above includes it
    found = {row["isa"] for row in bench.peak_rows()}
    without_rates = {"neon", "neondot", "neoni8mm", "neonbf16", "avx512vbmi"}
    assert found >= {"scalar", *kernels.levels()} - without_rates - aside and not found & aside


def test_a_thread_that_comes_late_does_not_end_the_search_for_the_number_of_rounds(monkeypatch):
    late = iter([50_000_000, 100, 50_000_000, 200, 50_000_000])
    monkeypatch.setattr(bench, "measure_peak", lambda name, array, rounds, count: next(late, 100 * rounds))
    rounds, best = limits._best("any", None, 2, target=1_000_000)
    assert rounds >= 4_000 and best == 100 * rounds


def test_more_rounds_take_longer():
    def longer(name):
        return bench.measure_peak(name, None, 50_000, 1) > 10 * bench.measure_peak(name, None, 500, 1)

    for row in bench.peak_rows():
        assert any(longer(row["name"]) for _ in range(50)), row


def test_unknown_row():
    with pytest.raises(LookupError, match="no measure nnf_peak_nothing"):
        bench.measure_peak("nnf_peak_nothing", None, 1, 1)


def test_memory_is_whole_reads_and_is_read_by_each_thread():
    array = bench.peak_memory(1000, 2)
    assert array.size == 2 * 1024 and array.ctypes.data % 64 == 0 and array.all()
    assert bench.measure_peak(None, array, 10, 2) > 0


def test_limits_of_every_row_and_level(short):
    calls = []
    found = limits.limits((1, 2), progress=lambda *args: calls.append(args))
    assert [row["isa"] for row in found["arithmetic"]] == [row["isa"] for row in bench.peak_rows()]
    assert [row["level"] for row in found["reads"]] == ["L1", "L2", "L3", "memory"]
    assert all(set(row["rates"]) == {1, 2} and min(row["rates"].values()) > 0
               for row in found["arithmetic"] + found["reads"])
    assert [done for done, _, _ in calls] == list(range(calls[0][1])) and calls[-1][2] == "reads from memory, 2 threads"


def test_a_higher_level_is_no_slower(short):
    found = limits.limits((1,), types=("f32",))
    assert {row["types"] for row in found["arithmetic"]} == {"f32"}
    rates = [row["rates"][1] for row in found["arithmetic"]]
    assert max(rates) >= rates[0]


def test_a_meter_reads_the_fastest_levels_of_the_types_asked_for(short, monkeypatch):
    monkeypatch.setattr(limits, "TURN_NS", 20_000)
    found = limits.limits((1,))
    meter = limits.Meter(found, {"f32"}, 1)
    fastest = max((row for row in found["arithmetic"] if row["types"] == "f32"), key=lambda row: row["rates"][1])
    assert meter.rows == [{"types": "f32", "isa": fastest["isa"], "unit": "GFLOP/s"}]
    rates = [meter.read()[0] for _ in range(5)]
    assert meter.summary() == [{**meter.rows[0], "rate": sorted(rates)[2]}] and min(rates) > 0
    assert limits.Meter(found, (), 1).read() == []


def test_a_meter_reads_the_fastest_vectors_beside_tiles(monkeypatch):
    rates = {"scalar": 5.0, "avx512vnni": 700.0, "avx512amx": 4000.0, "avx2": 60.0}
    known = [{"name": f"loop {isa}", "types": "s8", "isa": isa, "operations": 128.0} for isa in rates]
    monkeypatch.setattr(bench, "peak_rows", lambda: known)
    monkeypatch.setattr(bench, "measure_peak", lambda name, array, rounds, count: rounds * (2 if "amx" in name else 4))
    found = {"arithmetic": [{"types": "s8", "isa": isa, "unit": "GOP/s", "rates": {2: rate}}
                            for isa, rate in rates.items()]}
    meter = limits.Meter(found, {"s8", "bf16"}, 2)
    assert [row["isa"] for row in meter.rows] == ["avx512amx", "avx512vnni"]
    assert meter.read() == [128.0, 64.0]
    del found["arithmetic"][2]
    assert [row["isa"] for row in limits.Meter(found, {"s8"}, 2).rows] == ["avx512vnni"]


def test_cache_sizes_come_from_linux(tmp_path):
    for place, texts in enumerate((("1", "Data", "48K"), ("1", "Instruction", "64K"), ("2", "Unified", "2M"),
                                   ("3", "Unified", "odd"))):
        (tmp_path / f"index{place}").mkdir()
        for name, text in zip(("level", "type", "size"), texts):
            (tmp_path / f"index{place}" / name).write_text(text + "\n")
    assert limits.cache_sizes(tmp_path) == {"L1": 48 << 10, "L2": 2 << 20, "L3": 0}
    assert limits.cache_sizes(tmp_path / "absent") == {"L1": 0, "L2": 0, "L3": 0}


def test_working_sets_lie_inside_their_level():
    sets = limits.working_sets({"L1": 32 << 10, "L2": 1 << 20, "L3": 32 << 20})
    assert sets == {"L1": 16 << 10, "L2": 512 << 10, "L3": 8 << 20, "memory": limits.LARGEST}
    assert all(limits.working_sets({"L1": 0, "L2": 0, "L3": 0}).values())


@pytest.mark.parametrize("size, count, level", [(100, 1, "L1"), (150, 1, "L2"), (150, 2, "L1"), (5000, 2, "L3"),
                                                (9000, 1, "memory")])
def test_read_rate_takes_the_level_that_holds_the_working_set(size, count, level):
    found = {"reads": [{"level": name, "rates": {1: rate, 2: 2 * rate}}
                       for name, rate in (("L1", 8), ("L2", 4), ("L3", 2), ("memory", 1))]}
    rate = {"L1": 8, "L2": 4, "L3": 2, "memory": 1}[level] * count
    assert limits.read_rate(found, size, count, {"L1": 100, "L2": 1000, "L3": 8000}) == (level, rate)
