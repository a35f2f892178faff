"""Records beside the dataclasses that they stand for: everything that can be seen of one, of the other too."""

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from functools import partial

import pytest

from nnfast import record as records


class Mixed:
    """The fields of the records below."""

    first: int
    second: tuple = ()
    hidden: object = records.field(default=None, repr=False)
    proof: object = records.field(default=7, init=False, compare=False)


class Kept:
    name: str
    found: dict = records.field(default_factory=dict, repr=False)


class Empty:
    pass


def _pair(plain, **options):
    """(record, dataclass) of the same fields."""
    namespace = {key: value for key, value in vars(plain).items() if key not in ("__dict__", "__weakref__")}
    given = {key: dataclasses.field(**value.arguments) if isinstance(value, records._Field) else value
             for key, value in namespace.items()}
    return (records.record(type(plain.__name__, (), dict(namespace)), slots=True, **options),
            dataclasses.dataclass(slots=True, **options)(type(plain.__name__, (), given)))


def _seen(call):
    """What a call returns, as text, or what it raises."""
    try:
        return repr(call())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _assigned(thing, name):
    setattr(thing, name, 5)
    return getattr(thing, name)


USES = {
    "made": lambda kind: kind(1, (2,)),
    "made by names": lambda kind: kind(first=1, hidden=3),
    "too few": lambda kind: kind(),
    "too many": lambda kind: kind(1, 2, 3, 4, 5),
    "unknown": lambda kind: kind(1, other=2),
    "not of init": lambda kind: kind(1, proof=2),
    "equal": lambda kind: (kind(1) == kind(1), kind(1) == kind(2), kind(1) == kind(1, hidden=2), kind(1) == 1),
    "hash": lambda kind: len({kind(1), kind(1), kind(2)}),
    "unhashable": lambda kind: isinstance(hash(kind([])), int),
    "assigned": lambda kind: _assigned(kind(1), "first"),
    "deleted": lambda kind: delattr(kind(1), "first"),
    "replaced": lambda kind: dataclasses.replace(kind(1), second=(3,)),
    "replaced not of init": lambda kind: dataclasses.replace(kind(1), proof=3),
    "copied": lambda kind: copy.copy(kind(1, (4,))),
    "fields": lambda kind: [(f.name, f.type, f.init, f.repr, f.compare) for f in dataclasses.fields(kind)],
    "as a dict": lambda kind: dataclasses.asdict(kind(1)),
    "signature": lambda kind: inspect.signature(kind),
    "matched": lambda kind: kind.__match_args__,
    "slots": lambda kind: kind.__slots__,
    "no dict": lambda kind: hasattr(kind(1), "__dict__"),
}


@pytest.mark.parametrize("options", [{"frozen": True}, {}, {"frozen": True, "eq": False}, {"eq": False, "repr": False}],
                         ids=str)
@pytest.mark.parametrize("use", USES)
def test_a_record_does_what_the_dataclass_does(use, options):
    record, dataclass = _pair(Mixed, **options)
    seen = _seen(lambda: USES[use](record))
    if "object at 0x" in seen:
        seen = seen.partition(" object at ")[0]
        assert _seen(lambda: USES[use](dataclass)).startswith(seen)
    else:
        assert seen == _seen(lambda: USES[use](dataclass))


def test_records_are_replaced_as_dataclasses_are():
    record, dataclass = _pair(Mixed, frozen=True)
    for change in ({"first": 4}, {"proof": 4}, {"other": 4}):
        # Since Python 3.13 dataclasses raise TypeError where they raised ValueError.
        seen, expected = (_seen(partial(replace, kind(1), **change))
                          for replace, kind in ((records.replace, record), (dataclasses.replace, dataclass)))
        assert seen.replace("ValueError", "TypeError") == expected.replace("ValueError", "TypeError")


def test_a_default_factory_makes_one_for_each():
    record, _ = _pair(Kept)
    a, b = record("a"), record("b")
    a.found["x"] = 1
    assert (b.found, record("c", {"y": 2}).found) == ({}, {"y": 2})
    assert list(inspect.signature(record).parameters) == ["name", "found"]


def test_a_record_without_fields():
    assert repr(_pair(Empty)[0]()) == "Empty()"


@records.record(frozen=True, slots=True, weakref_slot=True)
class Settled:
    """Of this module, so that it can be pickled; settles its field after construction."""

    value: int = 2

    def __post_init__(self):
        object.__setattr__(self, "value", self.value * 2)


def test_pickle_and_deepcopy_keep_values_as_they_are():
    for other in (pickle.loads(pickle.dumps(Settled(3))), copy.deepcopy(Settled(3))):
        assert other == Settled(3) and other.value == 6
    assert Settled.__weakref__ is not None


def test_a_frozen_record_refuses_as_a_dataclass_does():
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'value'"):
        Settled().value = 3
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'other'"):
        Settled().other = 3


def test_a_record_needs_slots():
    with pytest.raises(TypeError, match="slots must be True"):
        records.record(slots=False)


def test_the_model_and_its_records_come_without_dataclasses():
    code = "import sys, nnfast.model.types, nnfast.driver.request; print('dataclasses' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
