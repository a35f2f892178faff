"""SKIP_GRAM and hash tables, between strings and int64. Strings are numbers here (strings.py)."""

import numpy as np

from ..record import replace
from .graph import frozen
from .own import extends, scalar, translate
from .schema import Builtin, TensorType

B = Builtin


@extends(B.SKIP_GRAM)
def skip_gram(b, op):
    """The strings that it makes get numbers as it runs."""
    b.check_counts(op, 1)
    if b.graphs.strings is None:
        b.refuse(op, "works on strings, which only an Interpreter takes")
    options = op.options
    translate(b, op, "TFL_SKIP_GRAM", [scalar(b, op, value) for value in (
        options.ngram_size, options.max_skip_size, options.include_all, b.graphs.strings.number)])


@extends(B.HASHTABLE)
def hashtable(b, op):
    """The name of a table, which all subgraphs share."""
    b.check_counts(op, 0)
    b.resources[op.outputs[0]] = "hashtable", str(op.options.table_id)


@extends(B.HASHTABLE_IMPORT)
def import_(b, op):
    """Keys and values of a table; those that come first count."""
    b.check_counts(op, 3, outputs=0)
    keys, values = (b.tensor(op, place) for place in (1, 2))
    if not b.is_constant(keys) or not b.is_constant(values) or keys.array.size != values.array.size:
        b.refuse(op, "fills a table with what is not known while loading, or with keys and values of different numbers")
    b.graphs.tables.setdefault(_name(b, op), (keys, values))


def _name(b, op):
    name = b.resources.get(op.inputs[0])
    if name is None or name[0] != "hashtable":
        b.refuse(op, "does not get its table from a HASHTABLE")
    return name


def _table(b, op):
    """(keys, values) of a table, FileTensors."""
    table = b.graphs.tables.get(_name(b, op))
    if table is None:
        b.refuse(op, "looks into a table that nothing fills before")
    return table


def _constant(b, t, **changes):
    t = replace(t, index=len(b.tensors), **changes)
    b.tensors.append(t)
    return t


@extends(B.HASHTABLE_FIND)
def find(b, op):
    """Look up each element of a tensor."""
    b.check_counts(op, 3)
    keys, values = (_constant(b, t, dims=(t.array.size,)) for t in _table(b, op))
    if b.tensor(op, 1).type != keys.type or b.result(op).type != values.type:
        b.refuse(op, "looks up other types than those of the table")
    translate(b, op, "TFL_HASHTABLE_FIND", inputs=[b.tensor(op, 1), keys, values, b.tensor(op, 2)])


@extends(B.HASHTABLE_SIZE)
def size(b, op):
    """A constant: the number of different keys."""
    b.check_counts(op, 1)
    count = frozen(np.array([len(set(_table(b, op)[0].array.reshape(-1).tolist()))], np.int64))
    b.tensors[op.outputs[0]] = replace(b.result(op), type=TensorType.INT64, dims=(1,), data=count.view(np.uint8))
