"""Spoils the operands of operations and asks the C library for each. A program, as the library stays in its process.

Standard output: JSON, {name of an operation: [what was taken, ...]} with "as it is" for the operation itself,
"input 2 INT32 as BOOL", "output 0 ...", "3 more inputs" and "3 more outputs", which repeat the first one.
"""

import ctypes
import json
from dataclasses import replace

from nnfast.conformance.instances import draw, table
from nnfast.conformance.ndk import NdkDevice
from nnfast.conformance.ndk.library import ScalesStruct, indexes, type_of
from nnfast.model.types import OperandType as T

TYPES = (T.FLOAT32, T.FLOAT16, T.INT32, T.UINT32, T.BOOL, T.TENSOR_FLOAT32, T.TENSOR_FLOAT16, T.TENSOR_INT32,
         T.TENSOR_BOOL8, T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_SYMM_PER_CHANNEL, T.TENSOR_QUANT16_ASYMM,
         T.TENSOR_QUANT16_SYMM)
"""What takes the place of an operand's type; dimensions, scale and zero point stay."""

MORE_INPUTS, MORE_OUTPUTS = 5, 6


class Operations:
    """Models of one operation each, which are never finished."""

    def __init__(self):
        self.device = NdkDevice(1)

    def takes(self, operands, operation, inputs, outputs):
        """Whether addOperation succeeds. An operand that addOperand refuses is missing, so that a later index is out
        of range."""
        function, model, count = self.device.function, ctypes.c_void_p(), 0
        self.device.call("Model_create", ctypes.byref(model))
        for operand in operands:
            kind = type_of(operand, operand.dims)
            if function("Model_addOperand")(model, ctypes.byref(kind)):
                continue
            if operand.channel_quant is not None and operand.type == T.TENSOR_QUANT8_SYMM_PER_CHANNEL:
                scales = operand.channel_quant.scales
                quant = ScalesStruct(operand.channel_quant.dim, len(scales), (ctypes.c_float * len(scales))(*scales))
                function("Model_setOperandSymmPerChannelQuantParams")(model, count, ctypes.byref(quant))
            count += 1
        code = function("Model_addOperation")(model, operation, len(inputs), indexes(inputs), len(outputs),
                                              indexes(outputs))
        function("Model_free")(model)
        return not code

    def taken(self, main):
        """What is taken of the only operation of a graph."""
        operation, operands = main.operations[0], list(main.operands)
        inputs, outputs = list(operation.inputs), list(operation.outputs)
        if self.takes(operands, operation.type, inputs, outputs):
            yield "as it is"
        for side, places in (("input", inputs), ("output", outputs)):
            for number, place in enumerate(places):
                for kind in TYPES:
                    spoilt = replace(operands[place], type=kind)
                    if kind != operands[place].type and self.takes(
                            [*operands[:place], spoilt, *operands[place + 1:]], operation.type, inputs, outputs):
                        yield f"{side} {number} {T(operands[place].type).name} as {kind.name}"
        for more in range(1, MORE_INPUTS + 1):
            if self.takes(operands, operation.type, inputs + more * inputs[:1], outputs):
                yield f"{more} more inputs"
        for more in range(1, MORE_OUTPUTS + 1):
            if self.takes(operands, operation.type, inputs, outputs + more * outputs[:1]):
                yield f"{more} more outputs"


def main():
    operations, found = Operations(), {}
    for _, op, form, nth in table():
        found.setdefault(op.name, []).append(list(operations.taken(draw(op, form, nth, 1, 12).model.main)))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
