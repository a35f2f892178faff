"""Operations against the limits of the machine."""

import numpy as np
import pytest

import nnfast
from nnfast.bench import operations, peak

LIMITS = {"reads": [{"level": level, "rates": {1: rate}}
                    for level, rate in (("L1", 50.0), ("L2", 20.0), ("L3", 10.0), ("memory", 5.0))]}
RATES = {"f32": {"avx2": 100.0}, "bf16": {}, "s8": {}}


@pytest.fixture(autouse=True)
def caches(monkeypatch):
    monkeypatch.setattr(peak, "cache_sizes", lambda: {"L1": 1000, "L2": 100_000, "L3": 10_000_000})


def row(us, work=0, values=0, packed=0, types="f32", rates=None, kernel="nnf_conv2d_f32_nhwc__avx2_6x16"):
    possible = {level: 1e3 * us * rate for level, rate in (rates or RATES[types]).items()}
    return {"us": us, "operations": work, "bytes": values + packed, "packed_bytes": packed, "types": types,
            "possible": possible, "kernel": kernel}


def test_bound_by_arithmetic():
    found, = operations.compare([row(10, work=800_000, values=500)], LIMITS, 1)
    assert (found["bound"], found["unit"], found["rate"]) == ("arithmetic", "GFLOP/s", 80)
    assert found["percent"] == pytest.approx(80)


def test_share_of_every_level():
    found, = operations.compare([row(10, work=800_000, types="s8", rates={"avx512amx": 400.0, "avx512vnni": 64.0})],
                                LIMITS, 1)
    assert found["percents"] == {"avx512amx": pytest.approx(20), "avx512vnni": pytest.approx(125)}
    assert found["percent"] == pytest.approx(20) and found["bound"] == "arithmetic"


def test_bound_by_memory():
    found, = operations.compare([row(10, values=100_000)], LIMITS, 1)
    assert (found["bound"], found["unit"], found["rate"]) == ("L2", "GB/s", 10)
    assert found["percent"] == pytest.approx(50)


def test_weights_come_from_where_those_of_all_operations_fit():
    alone, = operations.compare([row(10, work=10, values=100, packed=50_000)], LIMITS, 1)
    assert alone["bound"] == "L2" and alone["percent"] == pytest.approx(100 * (50_000 / 20 + 2) / 10_000)
    first, _ = operations.compare([row(10, work=10, values=100, packed=50_000)] * 2, LIMITS, 1)
    assert first["bound"] == "L2"
    first, _ = operations.compare([row(10, work=10, packed=60_000), row(10, work=10, packed=60_000)], LIMITS, 1)
    assert first["bound"] == "L3" and first["percent"] == pytest.approx(60)


def test_what_has_no_limit_has_no_percent():
    nothing, unknown = operations.compare([row(0), row(1, work=100, types="s8")], LIMITS, 1)
    assert nothing["rate"] is None and nothing["percent"] is None
    assert unknown["unit"] == "GOP/s" and unknown["percent"] is None and unknown["percents"] == {}
    assert operations.total([nothing, unknown])["percent"] == 0


def test_figures_of_a_busy_machine_are_none():
    """What seems faster than the limit was measured beside others: 7,783 % says nothing."""
    fine, edge, busy, read = operations.compare(
        [row(90, work=7_200_000), row(10, work=1_150_000), row(10, work=77_830_000), row(1, values=900_000)], LIMITS, 1)
    assert [one["usable"] for one in (fine, edge, busy, read)] == [True, True, False, False]
    assert fine["percent"] == pytest.approx(80) and edge["percent"] == pytest.approx(115)
    assert (busy["percent"], busy["percents"], read["percent"]) == (None, {}, None)
    whole = operations.total([fine, edge, read])
    assert whole["usable"] and whole["percent"] == pytest.approx((90 * 80 + 10 * 115) / 100)
    whole = operations.total([fine, edge, busy])
    assert not whole["usable"] and whole["percent"] is None


def test_winograd_is_faster_than_the_products_it_is_counted_for():
    kernel = "nnf_conv2d_winograd4_s16_qu8_tile__avx2_18x16"
    fast, busy = operations.compare([row(10, work=1_900_000, kernel=kernel), row(10, work=4_700_000, kernel=kernel)],
                                    LIMITS, 1)
    assert fast["usable"] and fast["percent"] == pytest.approx(190) and not busy["usable"]


def test_rows_of_a_model():
    b = nnfast.ModelBuilder()
    x = b.input("TENSOR_FLOAT32", (1, 4, 4, 2))
    filter_, bias = b.constant(np.ones((3, 1, 1, 2), np.float32)), b.constant(np.zeros(3, np.float32))
    made = b.add("CONV_2D", [x, filter_, bias, *(b.scalar(v) for v in (1, 1, 1, 0))])
    b.operation("RELU", [made], [b.output("TENSOR_FLOAT32", (1, 4, 4, 3))])
    prepared = nnfast.Device(1).prepare(b.build())
    inputs = [np.ones((1, 4, 4, 2), np.float32)]
    assert operations.types_of(prepared, inputs) == {"f32"}
    conv, relu = operations.measure(prepared, inputs, 3)
    assert conv["operations"] == 2 * 16 * 2 * 3 and relu["operations"] == 0
    assert conv["bytes"] == 4 * 16 * (2 + 3) + conv["packed_bytes"] and relu["bytes"] == 2 * 4 * 16 * 3
    assert conv["shape"] == [1, 4, 4, 3] and conv["types"] == "f32"
    assert conv["share"] + relu["share"] == pytest.approx(1)
    assert operations.total(operations.compare([conv, relu], LIMITS, 1))["us"] == conv["us"] + relu["us"]


def test_what_was_possible_in_the_time_of_every_run(monkeypatch):
    """A run is set against the rates just before and after it, whatever they are at other times."""
    monkeypatch.setattr(operations, "_profiled", lambda prepared, arrays: [{
        "index": 0, "operation": "CONV_2D", "kernel": "k", "output": [], "types": ["float32"], "work": 5, "bytes": 8,
        "packed_bytes": 0, "joined": None, "multiply_adds": True, "bf16": False, "ns": next(times)}])
    times, rates = iter((100, 200, 50)), iter((10.0, 30.0, 10.0, 90.0))

    class Meter:
        rows = [{"types": "f32", "isa": "avx2"}, {"types": "s8", "isa": "avx2"}]

        def read(self):
            return [next(rates), 1.0]

    found, = operations.measure(None, [], 3, Meter())
    assert found["possible"] == {"avx2": 2500} and found["us"] == 0.1


def test_operations_inside_others_count_where_their_time_is():
    def made(index, work, values, packed, joined=None):
        return {"index": index, "kernel": "k", "work": work, "bytes": values + packed, "packed_bytes": packed,
                "joined": joined}
    first, second, third = operations._gathered([made(0, 5, 100, 10, 2), made(1, 7, 300, 20, 2), made(2, 9, 200, 30)])
    assert (third["work"], third["packed_bytes"], third["bytes"]) == (21, 60, 360)
    assert [row["kernel"] for row in (first, second)] == ["joined to 2"] * 2
    assert first["work"] == second["bytes"] == 0


def test_types_that_limit():
    def of(type_, bf16=False):
        return operations._types({"bf16": bf16, "types": [type_]})
    assert of("float32") == "f32"
    assert of("float16") == "f32"
    assert of("uint8") == "s8"
    assert of("float32", bf16=True) == "bf16"
    assert operations._types({"bf16": False, "types": []}) == "f32"
