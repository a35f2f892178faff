"""Marks of what runs when [NN 12.6]: what is marked, that marks nest, and that off they are nothing."""

import json
import os
import threading

import numpy as np
import pytest

import nnfast
from helpers.models import conv_model, reshape_model, two_step_model
from nnfast import observe, trace
from nnfast.bench import marks
from nnfast.compiler import passes
from nnfast.hal import v1_3


@pytest.fixture
def prepared():
    return nnfast.Device(1).prepare(two_step_model())


def names(recorder):
    return [event[0] for event in recorder.events]


def read(recorder, tmp_path):
    recorder.save(tmp_path / "t.json")
    return marks.read(tmp_path / "t.json")


def find(roots, layer, phase, detail):
    waiting = list(roots)
    while waiting:
        mark = waiting.pop()
        if (mark.layer, mark.phase, mark.detail) == (layer, phase, detail):
            return mark
        waiting += mark.inner
    raise AssertionError(f"no mark {layer}_{phase} {detail}")


def test_off_nothing_is_kept(prepared):
    x = np.ones((2, 3), np.float32)
    with trace.record() as recorder:
        pass
    prepared.run([x, x])
    assert recorder.events == [] and trace.recorder is None and observe.watchers == 0
    assert trace.span("LD", "PE") is trace.span("LD", "PC", "other")


def test_prepare_has_its_parts(tmp_path):
    with trace.record() as recorder:
        nnfast.Device(1).prepare(conv_model())
    roots = read(recorder, tmp_path)
    assert [(root.layer, root.phase, root.detail) for root in roots] == [("LD", "PC", "prepare")]
    assert {m.detail for m in roots[0].inner} == {"validateModel", "plan"}
    plan = find(roots, "LD", "PC", "plan")
    assert [m.detail for m in plan.inner] == ["infer shapes", "choose kernels, pack, place memory"]
    names = [name for name, _ in passes.chosen(passes.STEPS, ()) if name not in passes.ABOUT] # it has no such steps
    assert [m.detail for m in plan.inner[1].inner] == ["CONV_2D", *names, "place memory"]


def test_run_has_steps_inside(prepared, tmp_path):
    x = np.ones((2, 3), np.float32)
    with trace.record() as recorder:
        y, = prepared.run([x, x])
    assert (y == 2).all()
    roots = read(recorder, tmp_path)
    run, = roots
    assert (run.layer, run.phase, run.detail) == ("LD", "PE", "run")
    executor, = run.inner
    assert [(m.layer, m.phase, m.detail) for m in executor.inner] == [("LC", "PCO", "ADD"), ("LC", "PCO", "RELU6")]


def test_planning_at_execution_lies_within_it(tmp_path):
    prepared = nnfast.Device(1).prepare(reshape_model())
    with trace.record() as recorder:
        prepared.run([np.ones((2, 6), np.float32), np.array([3, 4], np.int32)])
    executor = find(read(recorder, tmp_path), "LC", "PE", "main")
    assert {"infer shapes", "choose kernels, pack, place memory"} <= {m.detail for m in executor.inner}
    assert [m.detail for m in executor.inner if m.phase == "PCO"] == ["RELU"]  # the reshape copies nothing


def test_transformations_have_a_phase_of_their_own(tmp_path):
    b = nnfast.ModelBuilder()
    x, y, z = b.input("TENSOR_FLOAT32", (3, 5)), b.operand("TENSOR_FLOAT32", (5, 3)), b.output("TENSOR_FLOAT32", (5, 3))
    b.operation("TRANSPOSE", [x, b.constant(np.array([1, 0], np.int32))], [y])
    prepared = nnfast.Device(1).prepare(b.operation("TANH", [y], [z]).build())
    with trace.record() as recorder:
        prepared.run([np.ones((3, 5), np.float32)])
    executor = find(read(recorder, tmp_path), "LC", "PE", "main")
    assert [(m.phase, m.detail) for m in executor.inner] == [("PTR", "TRANSPOSE"), ("PCO", "TANH")]


def test_execute_switches_to_its_inputs_and_back(prepared, tmp_path):
    places = [nnfast.RequestArgument(0, 24 * k, 24) for k in range(3)]
    request = nnfast.Request(tuple(places[:2]), tuple(places[2:]), (bytearray(72),))
    with trace.record() as recorder:
        prepared.execute(request)
    root, = read(recorder, tmp_path)
    assert [(m.prefix, m.phase) for m in root.inner] == [("[SW]", "PIO"), ("[SW]", "PE")]
    cells = marks.totals([root])
    assert cells["LD", "PE"][0] == pytest.approx(root.duration)
    assert cells["LD", "PIO"][0] == pytest.approx(root.inner[0].duration) and ("LD", "PR") in cells


def test_marks_of_a_call_that_fails_are_ended(prepared, tmp_path):
    with trace.record() as recorder, pytest.raises(nnfast.InvalidArgument):
        prepared.execute(None)
    root, = read(recorder, tmp_path)
    assert root.detail == "execute" and [m.phase for m in root.inner] == ["PIO"]


def test_threads_have_their_own_lines(prepared, tmp_path):
    x = np.ones((2, 3), np.float32)
    with trace.record() as recorder:
        threads = [threading.Thread(target=lambda: [prepared.run([x, x]) for _ in range(20)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    roots = read(recorder, tmp_path)
    assert len(roots) == 80 and {event[3] for event in recorder.events} == {os.getpid()}
    assert len({event[4] for event in recorder.events}) >= 1


def test_faces_mark_their_calls(tmp_path):
    with trace.record() as recorder:
        face = v1_3.Device(nnfast.Device(1))
        face.getCapabilities_1_3()
        face.getSupportedOperations_1_3(v1_3.Model())
    found = names(recorder)
    assert "[NN_LD_PI]getCapabilities" in found and "[NN_LD_PC]getSupportedOperations" in found


def test_the_file_is_what_viewers_take(prepared, tmp_path):
    with trace.record() as recorder:
        prepared.run([np.ones((2, 3), np.float32)] * 2)
    document = json.loads(recorder.to_json())
    for event in document["traceEvents"]:
        assert event.keys() == {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"} and event["ph"] == "X"
        assert event["ts"] >= 0 and event["dur"] >= 0
    assert min(event["ts"] for event in document["traceEvents"]) == 0


def test_a_pause_is_not_recorded(prepared):
    x = np.ones((2, 3), np.float32)
    with trace.record() as recorder:
        with trace.pause():
            assert observe.watchers == 0
            prepared.run([x, x])
        assert recorder.events == [] and observe.watchers == 1
        prepared.run([x, x])
        assert recorder.events
    with trace.pause():
        assert observe.watchers == 0
    assert observe.watchers == 0


def test_recording_within_recording_gives_back_the_outer():
    with trace.record() as outer:
        with trace.record() as inner, trace.span("LA", "PE", "a"):
            pass
        with trace.span("LA", "PE", "b"):
            pass
    assert (names(inner), names(outer)) == (["[NN_LA_PE]a"], ["[NN_LA_PE]b"])
