"""The ring's protocol in every interleaving, and the same with its steps spoilt, which must be noticed."""

import pytest

from helpers.ring_model import (
    NOT_EMPTY,
    NOT_FULL,
    Change,
    Explorer,
    Go,
    Let,
    Load,
    Sleep,
    Store,
    Wake,
    Wrong,
    changed,
    closer,
    libfmq,
    ordered,
    reader,
    taken,
    writer,
)

BOTH = NOT_FULL | NOT_EMPTY
NOTHING = Let("nothing", lambda r: 0)


def same(program):
    return program


def scenarios(spoil_writer=same, spoil_reader=same, spoil_closer=same):
    """name: (capacity, programs, event word)."""
    def w(*args):
        return spoil_writer(writer(*args))

    def r(*args):
        return spoil_reader(reader(*args))

    c = spoil_closer(closer())
    return {
        "one element": (1, [w(1, 1, 3), r(1, 3)], 0),
        "closed writer": (2, [w(2, 1, 4, "closed"), c], 0),
        "closed reader, bits of before": (2, [w(2, 1, 1), r(2, 2, "closed"), c], BOTH),
        "closed reader": (2, [w(2, 1, 1), r(1, 2, "closed"), c], 0),
        "one at a time": (2, [w(2, 1, 3), r(1, 3)], 0),
        "two in, one out": (2, [w(2, 2, 4), r(1, 4)], 0),
        "one in, two out": (2, [w(2, 1, 4), r(2, 4)], 0),
        "two in, two out, wrapping": (3, [w(3, 2, 6), r(2, 6)], 0),
        "writer of libfmq": (2, [libfmq(w(2, 1, 3)), r(1, 3)], 0),
        "reader of libfmq": (2, [w(2, 1, 3), libfmq(r(1, 3))], 0),
        "bits of before": (2, [w(2, 1, 3), r(1, 3)], BOTH),
    }


@pytest.mark.parametrize("name", scenarios())
def test_the_protocol_holds(name):
    capacity, programs, event = scenarios()[name]
    assert Explorer(programs, capacity, event).explore() > 20


def first_error(**spoilt):
    """What goes wrong, and in which scenario; None when nothing does."""
    for name, (capacity, programs, event) in scenarios(**spoilt).items():
        try:
            Explorer(programs, capacity, event).explore()
        except Wrong as wrong:
            return name, str(wrong)
    return None


RAISE = "raise fence", "glance", "set", "raise", "wake"


# name: (what goes wrong, whose steps, how they change)
ASLEEP, TORN, OVERWRITTEN = "nobody goes on", "does not know what was stored", "while it is read"
SPOILT = {
    "commit before copy": (TORN, "writer", lambda p: ordered(p, "publish", "copy")),
    "release before copy": (OVERWRITTEN, "reader", lambda p: ordered(p, "publish", "copy")),
    "wake before commit": (ASLEEP, "writer", lambda p: ordered(p, *RAISE, "publish")),
    "wake before release": (ASLEEP, "reader", lambda p: ordered(p, *RAISE, "publish")),
    "reader waits without a second look": (ASLEEP, "reader", lambda p: changed(
        p, recheck=NOTHING, sleep=Sleep(NOT_EMPTY, lambda r: r["event"] & ~NOT_EMPTY))),
    "writer waits without a second look": (ASLEEP, "writer", lambda p: changed(
        p, recheck=NOTHING, sleep=Sleep(NOT_FULL, lambda r: r["event"] & ~NOT_FULL))),
    "reader sleeps whatever the word is": (ASLEEP, "reader", lambda p: changed(p, sleep=Sleep(NOT_EMPTY, None))),
    "writer sleeps whatever the word is": (ASLEEP, "writer", lambda p: changed(p, sleep=Sleep(NOT_FULL, None))),
    "reader takes the writer's bit": (ASLEEP, "reader", lambda p: changed(p, take=Change(taken(BOTH)))),
    "writer takes the reader's bit": (ASLEEP, "writer", lambda p: changed(p, take=Change(taken(BOTH)))),
    "commit without release": (TORN, "writer", lambda p: changed(
        p, publish=Store("write", lambda r: r["at"] + step_of(p)))),
    "release without release": (OVERWRITTEN, "reader", lambda p: changed(
        p, publish=Store("read", lambda r: r["at"] + step_of(p)))),
    "writer looks without acquire": (OVERWRITTEN, "writer", lambda p: changed(p, counter=Load("seen", "read"))),
    "reader looks without acquire": (TORN, "reader", lambda p: changed(p, counter=Load("seen", "write"))),
    "raise without fence after commit": (ASLEEP, "writer", lambda p: changed(p, **{"raise fence": NOTHING})),
    "raise without fence after release": (ASLEEP, "reader", lambda p: changed(p, **{"raise fence": NOTHING})),
    "reader takes without fence": (ASLEEP, "reader", lambda p: changed(p, **{"take fence": NOTHING})),
    "writer takes without fence": (ASLEEP, "writer", lambda p: changed(p, **{"take fence": NOTHING})),
    "writer wakes nobody": (ASLEEP, "writer", lambda p: changed(p, wake=NOTHING)),
    "reader wakes nobody": (ASLEEP, "reader", lambda p: changed(p, wake=NOTHING)),
    "writer wakes writers": (ASLEEP, "writer", lambda p: changed(p, wake=Wake(NOT_FULL))),
    "closer raises before it closes": (ASLEEP, "closer", lambda p: ordered(p, *RAISE, "close")),
    "closer raises nothing": (ASLEEP, "closer", lambda p: changed(p, glance=Let("event", lambda r: 0), **{
        "raise": NOTHING})),
    "closer raises without fence": (ASLEEP, "closer", lambda p: changed(p, **{"raise fence": NOTHING})),
    "one element too many": (TORN, "writer", lambda p: changed(
        p, look=Go("copy", lambda r: r["at"] - r["seen"] <= 2))),
}


def step_of(program):
    return dict(program)["copy"].count


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_protocol_is_noticed(name):
    expected, who, spoil = SPOILT[name]
    scenario, error = first_error(**{f"spoil_{who}": spoil})
    assert expected in error, scenario
