"""Operations against the limits of the machine."""

import numpy as np
import pytest

import nnfast
from nnfast.bench import operations, peak

LIMITS = {"arithmetic": [{"types": "f32", "isa": "scalar", "rates": {1: 10.0}},
                         {"types": "f32", "isa": "avx2", "rates": {1: 100.0}}],
          "reads": [{"level": level, "rates": {1: rate}} for level, rate in
                    (("L1", 50.0), ("L2", 20.0), ("L3", 10.0), ("memory", 5.0))]}


@pytest.fixture(autouse=True)
def caches(monkeypatch):
    monkeypatch.setattr(peak, "cache_sizes", lambda: {"L1": 1000, "L2": 100_000, "L3": 10_000_000})


def row(us, work=0, values=0, packed=0, types="f32"):
    return {"us": us, "operations": work, "bytes": values + packed, "packed_bytes": packed, "types": types}


def test_bound_by_arithmetic():
    found, = operations.compare([row(10, work=800_000, values=500)], LIMITS, 1)
    assert (found["bound"], found["unit"], found["rate"]) == ("arithmetic", "GFLOP/s", 80)
    assert found["percent"] == pytest.approx(80)


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
    assert unknown["unit"] == "GOP/s" and unknown["percent"] is None
    assert operations.total([nothing, unknown])["percent"] == 0


def test_rows_of_a_model():
    b = nnfast.ModelBuilder()
    x = b.input("TENSOR_FLOAT32", (1, 4, 4, 2))
    filter_, bias = b.constant(np.ones((3, 1, 1, 2), np.float32)), b.constant(np.zeros(3, np.float32))
    made = b.add("CONV_2D", [x, filter_, bias, *(b.scalar(v) for v in (1, 1, 1, 0))])
    b.operation("RELU", [made], [b.output("TENSOR_FLOAT32", (1, 4, 4, 3))])
    prepared = nnfast.Device(1).prepare(b.build())
    conv, relu = operations.measure(prepared, [np.ones((1, 4, 4, 2), np.float32)], 3)
    assert conv["operations"] == 2 * 16 * 2 * 3 and relu["operations"] == 0
    assert conv["bytes"] == 4 * 16 * (2 + 3) + conv["packed_bytes"] and relu["bytes"] == 2 * 4 * 16 * 3
    assert conv["shape"] == [1, 4, 4, 3] and conv["types"] == "f32"
    assert conv["share"] + relu["share"] == pytest.approx(1)
    assert operations.total(operations.compare([conv, relu], LIMITS, 1))["us"] == conv["us"] + relu["us"]


def test_operations_inside_others_count_where_their_time_is():
    def made(index, work, values, packed, joined=None):
        return {"index": index, "kernel": "k", "work": work, "bytes": values + packed, "packed_bytes": packed,
                "joined": joined}
    first, second, third = operations._gathered([made(0, 5, 100, 10, 2), made(1, 7, 300, 20, 2), made(2, 9, 200, 30)])
    assert (third["work"], third["packed_bytes"], third["bytes"]) == (21, 60, 360)
    assert [row["kernel"] for row in (first, second)] == ["in bands to 2"] * 2
    assert first["work"] == second["bytes"] == 0


def test_types_that_limit():
    def of(kernel, *types):
        return operations._types({"kernel": kernel, "types": types})
    assert of("nnf_conv2d_f32_nhwc__avx2_6x16", "float32") == "f32"
    assert of("numpy", "float16") == "f32"
    assert of("nnf_conv2d_qu8_qs8c_nhwc__avx512vnni_12x32k4", "uint8") == "s8"
    assert of("nnf_conv2d_bf16_nhwc__avx512bf16_8x32", "float32") == "bf16"
    assert of("nnf_conv2d_f32_nhwc__avx512bf16_8x32", "float32") == "f32"
    assert of("numpy") == "f32"
