"""Ways between two processes: every row carries its messages, in both directions, and the figures hang together."""

import os

import pytest

from nnfast.bench import rings
from nnfast.errors import GeneralFailure


def test_the_document():
    seen = []
    document = rings.measure(1, lambda done, total, note: seen.append((done, total, note)))
    alone = len(os.sched_getaffinity(0)) == 1
    ways = [way for way in rings.WAYS if not (alone and way.spins)]
    assert [row["way"] for row in document["rows"]] == [way.name for way in ways]
    assert [note for _, _, note in seen] == [way.name for way in ways] * 2
    assert (document["bytes"], document["capacity"]) == (24, 1024)
    for way, row in zip(ways, document["rows"]):
        for blocks, count, summary in zip(way.blocks, (way.trips, way.messages),
                                          (row["round_trip_us"], row["messages_per_s"])):
            assert (summary is not None) == (count > 0)
            if summary:
                assert 0 < summary["low"] <= summary["median"] <= summary["high"]
                assert summary["blocks"] == blocks
        if way.trips:
            assert row["one_way_us"] == row["round_trip_us"]["median"] / 2
    trips = {row["way"]: row["round_trip_us"]["median"] for row in document["rows"] if row["round_trip_us"]}
    assert document["futex_ratio"] == trips[rings.PAIR] / trips[rings.BARE]


def test_some_rows():
    document = rings.measure(1, only=("pipe",))
    assert [row["way"] for row in document["rows"]] == ["pipe"] and document["futex_ratio"] is None


def test_the_processors_are_given_back():
    before = os.sched_getaffinity(0)
    rings.measure(1, only=("pipe",))
    assert os.sched_getaffinity(0) == before


def test_one_processor_does_not_spin():
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, [min(before)])
    try:
        document = rings.measure(1)
    finally:
        os.sched_setaffinity(0, before)
    assert document["processors"] is None
    assert not any(row["spins"] for row in document["rows"]) and len(document["rows"]) == 5


def test_a_message_that_is_lost_is_an_error(monkeypatch):
    """This side sends one message too few, and the pipe's next reader gets what it does not expect."""
    row, way = next((i, way) for i, way in enumerate(rings.WAYS) if way.name == "pipe")
    with rings._pair() as pair:
        pair.control.send((row, "receive", 10, 1))
        way.send(pair.ends, 5)
        way.send(pair.ends, 5)
        with pytest.raises(GeneralFailure, match="did not arrive as it was sent"):
            rings._answer(pair.control)
