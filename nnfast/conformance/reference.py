"""A whole model by the numpy definitions of its operations: no compiler, no native step."""

from math import prod

import numpy as np

from ..compiler.nodes import Facts, check_zero_sized
from ..errors import InvalidArgument, ResourceExhaustedPersistent
from ..model.types import LifeTime


def evaluate(model, inputs, given=None, most=None):
    """{operand: array} of what the operations of the main graph write, in order.

    inputs: an array for each input of the model, None where it is omitted. given: {operand: array} of values that
    later operations read in place of what was computed. most: bytes that an output may take, None: any number.
    Raises an nnfast.Error where a rule is broken, InvalidArgument for a model with control flow, and
    ResourceExhaustedPersistent before it computes an output of more than `most` bytes.
    """
    main = model.main
    if any(operand.lifetime == LifeTime.SUBGRAPH for operand in main.operands):
        raise InvalidArgument("evaluate: IF and WHILE have no definition over arrays")
    facts, found, given = Facts(model, main), {}, given or {}
    for operand, array in zip(main.inputs, inputs, strict=True):
        known = facts.of[operand]
        known.present = array is not None
        if known.present:
            known.value, known.shape = array, array.shape
    for index in range(len(main.operations)):
        node = facts.node(index)
        if node.op.validate is not None:
            node.op.validate(node)
        check_zero_sized(node)
        shapes = node.op.infer(node)
        if node.op.data_dependent:
            facts.settle_quantization(node)
        else:
            facts.settle(node, shapes)
            _check_size(node, most)
        with np.errstate(all="ignore"):
            arrays = node.op.compute(node, [t.value if t.present else None for t in node.inputs])
        for place, (tensor, array) in enumerate(zip(node.outputs, arrays, strict=True)):
            known = facts.of[tensor.operand]
            known.shape = facts.merged(node.path, place, tensor.operand, array.shape)
            if known.shape != array.shape:  # a declared size in place of a 0, which no operation writes [NN 13.3]
                array = np.zeros(known.shape, tensor.dtype)
            found[tensor.operand] = array
            known.value = given.get(tensor.operand, array)
    return found


def _check_size(node, most):
    for place, tensor in enumerate(node.outputs):
        nbytes = prod(tensor.shape) * tensor.dtype.itemsize
        if most is not None and nbytes > most:
            raise ResourceExhaustedPersistent(f"{node.path} output {place}: takes {nbytes} bytes, must be at most "
                                              f"{most}")
