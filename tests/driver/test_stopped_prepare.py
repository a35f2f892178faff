"""A preparation ends soon after it is told to, whatever it is doing."""

import threading

import numpy as np
import pytest

import nnfast
from nnfast._native.threads import Cancel
from nnfast.driver.prepared import PreparedModel
from nnfast.errors import Cancelled

F32 = "TENSOR_FLOAT32"


def chain(count):
    b = nnfast.ModelBuilder()
    x, w, none = b.input(F32, (1, 4)), b.constant(np.ones((1, 4), np.float32)), b.scalar(0)
    for i in range(count):
        y = b.output(F32, (1, 4)) if i == count - 1 else b.operand(F32, (1, 4))
        b.operation("ADD", [x, w, none], [y])
        x = y
    return b.build()


class Late:
    """A Cancel flag that is set from the `after`-th look on."""

    def __init__(self, after):
        self.after, self.looks = after, 0

    @property
    def is_set(self):
        self.looks += 1
        return self.looks > self.after


def test_every_part_of_a_preparation_looks_at_the_flag():
    model, device = chain(600), nnfast.Device(1)
    never = Late(1 << 60)
    PreparedModel(device, model.with_main(), cancel=never)  # a copy, which no proof spares the checks
    where = set()
    for after in range(0, never.looks, 97):
        with pytest.raises(Cancelled) as told:
            PreparedModel(device, model.with_main(), cancel=Late(after))
        where.add(str(told.value).split("stopped at ")[1].split("[")[0])
    assert {"main.operand", "main.operation"} <= where
    # Operands, operations twice (structure, rules), then shapes and kernels, and the placing of memory.
    assert never.looks >= 5 * 600
    with pytest.raises(Cancelled, match="main$"):
        PreparedModel(device, model.with_main(), cancel=Late(never.looks - 1))


def test_a_preparation_under_way_is_stopped_by_another_thread():
    cancel, ended = Cancel(), []

    def prepare():
        try:
            PreparedModel(nnfast.Device(1), model, cancel=cancel)
        except nnfast.Error as error:
            ended.append(error)

    model = chain(30000)
    thread = threading.Thread(target=prepare)
    thread.start()
    cancel.set()
    thread.join(600)
    assert [type(error) for error in ended] == [Cancelled]
