"""Verbose log lines [NN 12.1]: tags, what they tell, and that nothing is printed without them."""

import gc
import logging
import os
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

import nnfast
from helpers.models import conv_model, reshape_model, two_step_model
from nnfast import extensions, observe, vlog
from nnfast.driver import watchdog

DIGITS = Path(nnfast.__file__).parent / "data" / "digits_int8.tflite"


@pytest.fixture
def lines(caplog):
    """Turn tags on; the lines come as (logger, text)."""
    def turn_on(text):
        vlog.set(text)
        caplog.clear()
        return lambda: [(record.name, record.getMessage()) for record in caplog.records]

    with caplog.at_level(logging.INFO, "nnfast"):
        yield turn_on
        vlog.set("")


@pytest.mark.parametrize("text, mask", [
    ("", 0), ("1", vlog.ALL), ("all", vlog.ALL), ("model,1", vlog.ALL), ("model", 1), ("compilation", 2),
    ("execution", 4), ("cpuexe", 8), ("manager", 16), ("driver", 32), ("memory", 64), ("execution,cpuexe", 12),
    ("execution cpuexe", 12), ("memory:model", 65), ("all,nonsense", vlog.ALL)])
def test_12_1_values_of_the_property(text, mask):
    assert vlog.parse(text) == (mask, [])


@pytest.mark.parametrize("text, mask, unknown", [("EXECUTION", 0, ["EXECUTION"]), ("model,,driver", 33, [""]),
                                                 ("2,model", 1, ["2"]), ("x,all", vlog.ALL, ["x"])])
def test_12_1_unknown_and_empty_tokens_are_ignored_with_an_error_line(lines, caplog, text, mask, unknown):
    assert vlog.parse(text) == (mask, unknown)
    lines("")
    vlog.set(text)
    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == len(unknown) and all(repr(token) in error for token, error in zip(unknown, errors))
    assert vlog.mask == mask


def test_a_device_takes_over_a_changed_knob(monkeypatch):
    monkeypatch.setenv("NNFAST_VLOG", "memory")
    nnfast.Device(1)
    assert vlog.mask == vlog.MEMORY
    vlog.set("model")
    nnfast.Device(1)
    assert vlog.mask == vlog.MODEL  # the knob has not changed since
    monkeypatch.setenv("NNFAST_VLOG", "")
    nnfast.Device(1)
    assert vlog.mask == 0


def test_only_the_tags_of_runs_make_runs_watched():
    before = observe.watchers
    for text, more in (("all", 1), ("cpuexe", 1), ("model,compilation,driver", 0), ("execution", 1), ("", 0)):
        vlog.set(text)
        assert observe.watchers == before + more


def test_compilation_tells_kernels_and_reasons(lines):
    seen = lines("compilation")
    nnfast.Device(1).prepare(conv_model())
    assert {name for name, _ in seen()} == {"nnfast.compilation"}
    text = "\n".join(line for _, line in seen())
    assert "prepared in" in text and "CONV_2D" in text and "nnf_conv2d_f32" in text and "packed parameters" in text


def test_execution_and_cpuexe_tell_runs(lines):
    prepared = nnfast.Device(1).prepare(two_step_model())
    x = np.ones((2, 3), np.float32)
    seen = lines("execution,cpuexe")
    y, = prepared.run([x, x])
    assert (y == 2).all()
    texts = [line for _, line in seen()]
    assert [name for name, _ in seen()] == ["nnfast.cpuexe", "nnfast.cpuexe", "nnfast.execution"]
    assert texts[0].startswith("main.operation[0] ADD: nnf_") and "operation[1] RELU6" in texts[1] and "us" in texts[2]
    seen = lines("execution")
    prepared.submit([x, x]).result()
    stream = prepared.stream()
    stream.run([x, x])
    assert [name for name, _ in seen()] == ["nnfast.execution"] * 2


def test_a_plan_in_pieces_tells_each(lines):
    prepared = nnfast.Device(1).prepare(reshape_model())
    seen = lines("cpuexe")
    prepared.run([np.zeros((2, 6), np.float32), np.array([3, 4], np.int32)])
    assert [line.split(":")[0] for _, line in seen()] == ["main.operation[0] RESHAPE", "main.operation[1] RELU"]


def test_model_manager_and_memory_tell_their_part(lines, tmp_path):
    seen = lines("model,manager,memory")
    device = nnfast.Device(1, memory_limit=1 << 30)
    prepared = device.prepare(nnfast.load(DIGITS))
    buffer = device.allocate([nnfast.Role(prepared, 0)])
    buffer.copy_from(np.zeros(prepared.inputs[0].shape, prepared.inputs[0].dtype))
    buffer.copy_to(bytearray(64))
    watchdog.sweep()
    watchdog.sweep()
    told = seen()
    for name, words in (("model", "load digits_int8: 9 operations"), ("manager", "Device(num_threads=1"),
                        ("memory", "prepare: packed weights"), ("memory", "allocated for 1 roles"),
                        ("memory", "copied 64 bytes in"), ("memory", "copied 64 bytes out"),
                        ("manager", "idle, working memory released")):
        assert any(logger == f"nnfast.{name}" and words in line for logger, line in told), words


def test_manager_tells_extensions(lines):
    seen = lines("manager")
    extensions.register(extensions.Extension("com.example.nothing"))
    extensions.unregister("com.example.nothing")
    assert seen() == [("nnfast.manager", "register: <Extension com.example.nothing: 0 types, 0 operations>")]


def test_pools_and_cache_tell_what_becomes_of_them(lines, tmp_path):
    seen = lines("compilation,memory")
    device = nnfast.Device(1)
    prepared = device.prepare(two_step_model(), cache_dir=tmp_path)
    device.prepare(two_step_model(), cache_dir=tmp_path)
    memory = nnfast.Memory.create(72)
    places = [nnfast.RequestArgument(0, 24 * k, 24) for k in range(3)]
    prepared.execute(nnfast.Request(tuple(places[:2]), tuple(places[2:]), (memory,)))
    text = "\n".join(line for _, line in seen())
    for words in ("compilation cache: stored", "restored from a cache", "request pool 0: <Memory ashmem 72 B>, mapped"):
        assert words in text


REFUSALS = {
    "prepare": lambda device, prepared: device.prepare(two_step_model(), priority="none"),
    "check": lambda device, prepared: device.check(None),
    "supported_operations": lambda device, prepared: device.supported_operations("model"),
    "allocate": lambda device, prepared: device.allocate(),
    "prepare_from_cache": lambda device, prepared: device.prepare_from_cache(nnfast.CacheFiles((), ()), bytes(32)),
    "Device": lambda device, prepared: nnfast.Device(0),
    "register": lambda device, prepared: extensions.register("fibonacci"),
    "extension": lambda device, prepared: extensions.Extension("nodots"),
    "extension type": lambda device, prepared: extensions.Type("T", -1, np.int64),
    "extension operation": lambda device, prepared: extensions.Operation("O", 0, "x:T -> y:T", {}, None),
    "memory": lambda device, prepared: nnfast.Memory("stone", 0, 1),
    "message queue": lambda device, prepared: nnfast.fmq.MessageQueue.create(np.uint8, 0),
    "load": lambda device, prepared: nnfast.load(b"nothing"),
    "build": lambda device, prepared: nnfast.ModelBuilder().build(),
    "run": lambda device, prepared: prepared.run([1, 2]),
    "execute": lambda device, prepared: prepared.execute(None),
    "execute_fenced": lambda device, prepared: prepared.execute_fenced(None),
    "submit": lambda device, prepared: prepared.submit([], timeout=-1),
}


@pytest.mark.parametrize("call", REFUSALS)
def test_every_refusal_has_a_line(lines, call):
    device = nnfast.Device(1)
    prepared = device.prepare(two_step_model())
    seen = lines("")
    with pytest.raises(nnfast.Error) as refusal:
        REFUSALS[call](device, prepared)
    assert f"{call}: INVALID_ARGUMENT: {refusal.value}" in [line for _, line in seen()]


def test_a_dict_with_a_wrong_name_has_a_line(lines):
    prepared = nnfast.Device(1).prepare(two_step_model())
    seen = lines("")
    with pytest.raises(nnfast.InvalidArgument):
        prepared.run({"nobody": 1})
    assert len(seen()) == 1 and "run: INVALID_ARGUMENT" in seen()[0][1]


# -- what a process prints -------------------------------------------------------------------------------------------
PROGRAM = """
import sys
{before}
import nnfast
from nnfast.hal import v1_3
device = nnfast.Device(1)
prepared = device.prepare(nnfast.load({model!r}))
try:
    prepared.run([])
except nnfast.Error:
    pass
face = v1_3.Device(device)
assert face.getSupportedOperations_1_3(None)[0] == 4
face.getCapabilities()
{after}
"""


def printed(before="", after="", **environment):
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(before=before, after=after, model=str(DIGITS))],
                          capture_output=True, text=True, timeout=600, check=True,
                          env={**os.environ, "NNFAST_VLOG": "", **environment})
    return done.stdout, done.stderr.splitlines()


def test_the_library_prints_nothing_by_itself():
    assert printed() == ("", [])


def test_tags_print_to_stderr():
    out, err = printed(NNFAST_VLOG="execution,driver")
    assert out == "" and any("nnfast.execution: run: INVALID_ARGUMENT" in line for line in err)
    assert any("nnfast.driver: HAL 1.3: getSupportedOperations" in line for line in err)
    assert not any("nnfast.compilation" in line for line in err)


def test_an_application_with_logging_gets_each_line_once():
    _, err = printed(before="import logging; logging.basicConfig(format='app %(message)s')", NNFAST_VLOG="execution")
    assert err and all(line.startswith("app ") for line in err) and len(err) == len(set(err))


def test_logging_is_not_imported_without_need():
    source = "import sys, nnfast; nnfast.Device(1).prepare(nnfast.load(sys.argv[1])); print('logging' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", source, DIGITS], capture_output=True, text=True, timeout=600,
                          check=True, env={**os.environ, "NNFAST_VLOG": ""})
    assert done.stdout == "False\n"


def test_tags_that_are_unknown_leave_no_level_behind():
    vlog.set("nonsense")
    vlog.set("")
    assert logging.getLogger("nnfast").level == logging.NOTSET


def test_a_record_that_is_kept_keeps_nothing_of_the_call(lines, caplog):
    class Given(np.ndarray):
        """An array that can be watched."""

    given, told = np.ones((2, 3), np.float32).view(Given), lines("execution")
    seen = weakref.ref(given)
    prepared = nnfast.Device(1).prepare(two_step_model())
    gc.disable()
    try:
        with pytest.raises(nnfast.InvalidArgument):
            prepared.run([given])
        del given
        assert told() and caplog.records and seen() is None
    finally:
        gc.enable()
