"""`nnfast fuzz`: what targets find, what is left of it, and what is tried again."""

import gc
import os
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

import nnfast
from helpers.fuzz_targets import count_little, plant, without_atheris
from helpers.tflite.file_builder import Op, Tensor, build
from nnfast.compiler.resolve import resolve
from nnfast.errors import Error, InvalidArgument
from nnfast.fuzz import TARGETS, chance, flat, graph, operations, play, replay, run, runner, sessions
from nnfast.fuzz.decisions import Draws, Source
from nnfast.fuzz.files import TfliteFile, graphs, prepare_and_run, samples
from nnfast.fuzz.session_parts import Finding, other_values, seed_inputs
from nnfast.fuzz.sessions import Session
from nnfast.fuzz.targets import load
from nnfast.model.types import operation_name
from nnfast.service.wire.models import pack


# -- findings ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name, is_guided, words", [
    ("Raises", False, "ValueError: the word is there"), ("Dies", False, "Aborted"), ("Hangs", False, "nothing for 5 s"),
    ("Dies", True, "deadly signal"), ("Raises", True, "ValueError: the word is there")])
def test_a_finding_is_kept_and_found_again(tmp_path, monkeypatch, name, is_guided, words):
    plant(monkeypatch, name)
    if is_guided:
        pytest.importorskip("atheris")
        count_little(monkeypatch, tmp_path)
    else:
        without_atheris(monkeypatch, tmp_path)
    monkeypatch.setattr(runner, "HANG_SECONDS", 5 if name == "Hangs" else 90)
    result, = run([name], runs=10**6, seed=1, folder=tmp_path / "found")
    assert words in result.reason and 0 <= result.runs < 10**6
    assert (result.coverage is not None) == is_guided
    data = Path(result.file).read_bytes()
    assert data.startswith(b"NNF") and result.file.startswith(str(tmp_path / "found" / f"{name}-"))
    report = Path(result.file + ".txt").read_text()
    assert report.startswith(result.reason) and f"nnfast fuzz --target {name} --replay {result.file}" in report
    told, reason = replay(name, [result.file])
    assert f"looks at {len(data)} bytes" in told and reason


def test_a_wrong_definition_is_found_by_sessions(tmp_path, monkeypatch):
    """With counters in the whole package, where there is atheris."""
    plant(monkeypatch, "WrongSession")
    result, = run(["WrongSession"], runs=20_000, seed=1, folder=tmp_path)
    assert "Finding: " in result.reason and "must be" in result.reason
    told, reason = replay("WrongSession", [result.file])
    assert reason and "prepare" in told
    assert replay("session", [result.file])[1] == ""  # the driver itself is right


def test_nothing_is_left_of_a_target_without_findings(tmp_path, monkeypatch):
    without_atheris(monkeypatch, tmp_path)
    plant(monkeypatch, "Fine")
    seen = []
    result, = run(["Fine"], runs=300, seed=1, folder=tmp_path / "found", corpus=tmp_path / "corpus",
                  progress=lambda *state: seen.append(state))
    assert result.runs == 300 and result.reason == result.file == "" and not (tmp_path / "found").exists()
    assert (tmp_path / "corpus" / "Fine").is_dir() and seen


# -- the targets -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", sorted(TARGETS))
def test_seeds_corpus_and_changes_of_them_are_no_findings(name):
    target, random = load(TARGETS[name].place), Random(1)
    folder = Path(runner.__file__).parent / "corpus" / name
    inputs = [*target.seeds(), *(path.read_bytes() for path in sorted(folder.glob("*")))]
    assert inputs and all(len(data) <= TARGETS[name].most for data in inputs)
    for data in inputs[::4]:
        target.one(data)
    for _ in range(30):
        data = random.choice(inputs)
        target.one(chance.mutated(target, data, TARGETS[name].most, random,
                                  lambda data, size: chance.changed(data, size, random, inputs)))


def test_changes_of_facts_leave_files_that_are_read():
    target, loaded, refused = load(TARGETS["tflite"].place), 0, 0
    for number, data in enumerate([*target.seeds()] * 3):
        try:
            made = flat.changed(data, Random(number))
        except (InvalidArgument, OverflowError, TypeError):
            continue  # a number that the field cannot hold
        assert made == flat.changed(data, Random(number)) != data
        try:
            nnfast.load(made)
            loaded += 1
        except InvalidArgument:
            refused += 1
    assert loaded > 5 and refused > 5


def test_changes_of_facts_stay_as_small_as_the_file():
    huge = 1 << 30, 2
    data = build([Tensor("x", huge), Tensor("y", huge)], [Op("ABS", ["x"], ["y"])], ["x"], ["y"])
    for number in range(300):
        try:
            made = flat.changed(data, Random(number))
        except (InvalidArgument, OverflowError, TypeError):
            continue
        assert len(made) < len(data) + (1 << 13)


def test_files_with_one_fact_changed_are_refused_in_a_line_or_run():
    tried = set()
    for data in (*samples(), *TfliteFile.seeds()):
        for made in flat.each(data):
            if made not in tried:
                tried.add(made)
                TfliteFile.one(made)
    assert len(tried) > 5000


def test_drawn_models_hold_every_operation_and_are_refused_in_a_line_or_run():
    tried, prepared, device, random = Counter(), set(), nnfast.Device(1), Random(5)
    for _ in range(6000):
        model = operations.drawn(random)
        if model is None:
            continue
        kind = operation_name(resolve(model, {}).main.operations[0].type)
        tried[kind] += 1
        if tried[kind] <= 8:
            with suppress(Error):
                device.prepare(model)
                prepared.add(kind)
            prepare_and_run(model)
    assert len(tried) == len(operations.OPERATIONS) > 290 and len(prepared) > 100


def test_changes_of_facts_leave_models_that_can_be_sent():
    device, prepared, refused, differ = nnfast.Device(1), 0, 0, 0
    for number, model in enumerate(graphs() * 3):
        made = graph.changed(model, Random(number))
        differ += (made.main, made.referenced) != (model.main, model.referenced)
        with suppress(InvalidArgument):
            os.close(pack(made))
        try:
            device.prepare(made)
            prepared += 1
        except Error as error:
            assert "\n" not in str(error)
            refused += 1
    assert prepared > 5 and refused > 5 and differ > 50


def test_a_session_tells_what_it_does():
    target, lines = Session(), []
    target.tell = lines.append
    target.one(bytes(range(200)))
    assert lines[0].startswith("face canonical") and any(line.startswith("prepare") for line in lines)


# -- decisions ---------------------------------------------------------------------------------------------------------
def test_bytes_decide_single_draws():
    draws = Draws(bytes([7, 128, 0x34, 0x12, 2]), 5)
    assert draws.integers(10) == 7
    assert draws.random() == 0.5
    assert draws.integers(100, 2000) == 100 + 0x1234 % 1900
    assert draws.choice(["a", "b", "c"]) == "c"
    plain = np.random.Generator(np.random.PCG64(5))
    assert draws.random() == plain.random() and (draws.integers(9, size=4) == plain.integers(9, size=4)).all()


def test_a_source_is_used_up():
    source = Source(b"\x01\x02\x03")
    assert source.byte() == 1 and source.take(4) == b"\x02\x03\0\0" and source.is_used_up and source.below(9) == 0


@pytest.mark.parametrize("dtype", ["f4", "f2", "u1", "i1", "i4", "?"])
def test_other_values_have_the_same_form(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    for choice in range(16):
        other = other_values(array, choice)
        assert other.dtype == array.dtype and other.shape == array.shape and other.flags.c_contiguous


# -- arguments ---------------------------------------------------------------------------------------------------------
def test_arguments_of_run_are_checked():
    for wrong in ({"runs": 0}, {"minutes": 0}, {"seed": -1}, {"targets": "packets"}, {"progress": 1}, {"folder": 3}):
        with pytest.raises(InvalidArgument):
            run(**{"targets": ["packets"], "runs": 1, **wrong})


def test_seeds_stay_as_they_are():
    """Two zeros in their place make RANDOM_MULTINOMIAL draw other numbers each time."""
    b = nnfast.ModelBuilder()
    counts, logits = b.input("TENSOR_INT32", (2,)), b.input("TENSOR_FLOAT32", (1, 3))
    seeds = b.input("TENSOR_INT32", (2,))
    drawn = b.output("TENSOR_INT32", (1, 5))
    b.operation("ADD", [counts, counts, b.scalar(0)], [b.output("TENSOR_INT32", (2,))])
    model = b.operation("RANDOM_MULTINOMIAL", [logits, b.scalar(5), seeds], [drawn]).build()
    assert seed_inputs(model) == {2}


def test_graphs_that_last_keep_no_session(monkeypatch):
    """What the definitions refuse is remembered as text: an exception holds the frames, and so the devices."""
    def refuse(*_):
        raise InvalidArgument("refused on purpose")

    monkeypatch.setattr(play, "golden", refuse)
    target = Session()
    for data, _ in zip(target.seeds(), range(12)):
        with suppress(Finding):  # the driver does not refuse them
            target.one(data)
    refused = [found for drawn in target._drawn.values() if drawn for found in drawn.others.values()]
    assert refused and all(isinstance(found, tuple) for found in refused)
    gc.collect()
    assert not [thing for thing in gc.get_objects() if isinstance(thing, play.Play)]


def test_inputs_whose_results_grow_too_large_are_not_run(monkeypatch):
    """Paddings of 2^31 made the definitions take more memory than the process was allowed."""
    monkeypatch.setattr(play, "MOST_OUTPUT", 0)
    target, told = Session(), []
    target.tell = told.append
    for data, _ in zip(target.seeds(), range(12)):
        target.one(data)
    others = [found for drawn in target._drawn.values() if drawn for found in drawn.others.values()]
    assert sum(text.startswith("not run:") for text in told) >= others.count(None) > 0


def test_threads_that_are_about_to_end_are_waited_for_and_others_are_found(monkeypatch):
    session, ends = sessions.Session(), threading.Event()
    monkeypatch.setattr(sessions, "PATIENCE", 600)
    count = sessions.SPARE + 1 + threading.active_count()  # too many, even when all others end meanwhile
    session._check_left()
    late = [threading.Thread(target=ends.wait, daemon=True) for _ in range(count)]
    for thread in late:
        thread.start()
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda seconds: ends.set())  # waiting lets them end
    monkeypatch.setattr(sessions, "time", clock)
    session._check_left()
    assert ends.is_set()
    for thread in late:
        thread.join()
    stays = threading.Event()
    late = [threading.Thread(target=stays.wait, daemon=True) for _ in range(count)]
    monkeypatch.setattr(sessions, "PATIENCE", 0)
    try:
        for thread in late:
            thread.start()
        with pytest.raises(Finding, match="threads grew from"):
            session._check_left()
    finally:
        stays.set()
        for thread in late:
            thread.join()
