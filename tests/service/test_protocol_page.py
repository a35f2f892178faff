"""docs/protocol.md says what the protocol's code says: messages, records, sizes, statuses."""

import re
import types
import typing

import msgspec
import pytest

from helpers.tree import ROOT
from nnfast.errors import ErrorStatus
from nnfast.model import records as model_records
from nnfast.service.server.model_reader import MAX_HEADER
from nnfast.service.wire import models, protocol, records

PAGE = (ROOT / "docs" / "protocol.md").read_text()
WORDS = {int: "int", str: "str", bytes: "bin", bool: "bool", float: "float", types.NoneType: "nil"}


def shown(kind):
    """A type of a field, as the page writes it."""
    kind = typing.get_args(kind)[0] if typing.get_origin(kind) is typing.Annotated else kind
    if kind in WORDS:
        return WORDS[kind]
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        return " or ".join(map(shown, inner))
    if origin is list or origin is tuple and inner[1:] == (...,):
        return f"[{shown(inner[0])}...]"
    if origin is tuple:
        return f"[{', '.join(map(shown, inner))}]"
    return kind.__name__


def fields(kind):
    """The fields of a message or record, those that may be left out in brackets."""
    return ", ".join(f"{f.name}: {shown(f.type)}" if f.required else f"({f.name}: {shown(f.type)})"
                     for f in msgspec.structs.fields(kind))


def rows(title, columns):
    """The first columns of the table below a heading."""
    part = re.split(r"^#+ ", PAGE.split(f" {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    lines = [line for line in part.splitlines() if line.startswith("|")][2:]
    return [tuple(cell.strip().strip("`") for cell in re.split(r"(?<!\\)\|", line.strip("|"))[:columns])
            for line in lines]


@pytest.mark.parametrize("title,kinds", [
    ("From the client, without an answer", protocol.ONE_WAY), ("Calls", protocol.CALLS),
    ("From the driver, on the events connection", protocol.EVENTS), ("Answers", protocol.ANSWERS)])
def test_messages(title, kinds):
    there = {name: (tag, found) for tag, name, found in rows(title, 3)}
    assert there == {kind.__name__: (str(kind.__struct_config__.tag), fields(kind)) for kind in kinds}


@pytest.mark.parametrize("title,module", [("Records", records), ("Records of a model", model_records)])
def test_records(title, module):
    base = model_records.Record
    kinds = [kind for kind in vars(module).values()
             if isinstance(kind, type) and issubclass(kind, base) and kind is not base]
    assert dict(rows(title, 2)) == {kind.__name__: fields(kind) for kind in kinds}


def test_hello():
    assert f"`[{fields(protocol.Hello)}]`" in PAGE


def test_numbers():
    there = {name: int(value.replace(",", "")) for name, value in rows("Sizes", 2)}
    assert there == {"VERSION": protocol.VERSION, "MAX_PACKET": protocol.MAX_PACKET, "MAX_HELLO": protocol.MAX_HELLO,
                     "MAX_EVENT": protocol.MAX_EVENT, "MAX_CALL": protocol.MAX_CALL,
                     "MAX_RELEASE": protocol.MAX_RELEASE, "MAX_FDS": protocol.MAX_FDS, "MAX_HEADER": MAX_HEADER,
                     "INLINE": -records.INLINE, "ATTACHED": -records.ATTACHED}
    assert f"`{models.MAGIC.decode()}`" in PAGE and f'`"{protocol.MAGIC}"`' in PAGE


def test_statuses():
    assert {name: int(code) for code, name in rows("Statuses", 2)} == {s.name: s for s in ErrorStatus if s}


def test_every_call_names_its_answer():
    answers = {kind.__name__ for kind in protocol.ANSWERS}
    for _, name, _, answer in rows("Calls", 4):
        assert answer in answers, name
