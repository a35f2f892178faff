"""Memory pools of one request, laid out as the standard's tests do [NN 16.2], with checks on stray writes."""

import numpy as np

from ..driver.request import Request, RequestArgument

INPUT_POOL, OUTPUT_POOL = 0, 1
_POISON = 0xA5


class Memory:
    """Pool 0 holds all inputs, pool 1 all outputs, each at a multiple of 4 bytes.

    Inputs have dimensions where the model leaves them open. An output of zero elements gets one byte. shorten: bytes
    taken off the buffer of output 0. The output pool is filled with a pattern, so that a value which was never written
    does not look right, and stray writes show. allocate: function from a size to (pool for the request, its bytes as an
    array); a plain array where nothing is given.
    """

    def __init__(self, case, shorten=0, allocate=None):
        self._case = case
        inputs, offset = [], 0
        for place, value in zip(case.model.main.inputs, case.inputs):
            if value is None:
                inputs.append(RequestArgument(has_no_value=True))
                continue
            dims = () if 0 not in case.model.main.operands[place].dims else value.shape
            inputs.append(RequestArgument(INPUT_POOL, offset, value.nbytes, dims))
            offset = _align(offset + value.nbytes)
        allocate = allocate or _array
        inputs_pool, self.input_pool = allocate(max(offset, 1))
        for argument, value in zip(inputs, case.inputs):
            if value is not None:
                end = argument.offset + argument.length
                self.input_pool[argument.offset:end] = np.frombuffer(value.tobytes(), np.uint8)
        outputs, offset = [], 0
        for place, value in enumerate(case.expected):
            length = max(value.nbytes, 1)
            outputs.append(RequestArgument(OUTPUT_POOL, offset, length - shorten if place == 0 else length))
            offset = _align(offset + length)
        outputs_pool, self.output_pool = allocate(max(offset, 1))
        self.output_pool[:] = _POISON
        self.request = Request(tuple(inputs), tuple(outputs), (inputs_pool, outputs_pool))
        self._sent = self.input_pool.copy()

    def outputs(self):
        """Arrays over the output pool with the expected shapes and dtypes."""
        result = []
        for argument, value in zip(self.request.outputs, self._case.expected):
            raw = self.output_pool[argument.offset:argument.offset + value.nbytes]
            result.append(raw.view(value.dtype).reshape(value.shape))
        return result

    def damage(self):
        """What the driver wrote where it must not, or ""."""
        if not np.array_equal(self._sent, self.input_pool):
            return "the driver changed the input pool"
        outside = np.ones(self.output_pool.size, bool)
        for argument in self.request.outputs:
            outside[argument.offset:argument.offset + argument.length] = False
        stray = np.flatnonzero(outside & (self.output_pool != _POISON))
        if stray.size:
            return f"the driver wrote {stray.size} bytes outside the outputs, the first at offset {stray[0]} of pool 1"
        return ""


class DeviceMemory:
    """As Memory, with a buffer of the driver for every argument where it allocates one; `buffers` counts them.

    Inputs are copied into their buffers; `outputs` copies the results out.
    """

    def __init__(self, face, prepared, case):
        self._case, self._plain = case, face.memory(case)
        request, pools, self._results = self._plain.request, list(self._plain.request.pools), {}
        inputs, outputs = list(request.inputs), list(request.outputs)
        for place, value in enumerate(case.inputs):
            buffer = face.allocate(prepared, "input", place) if value is not None else None
            if buffer is not None:
                buffer.copy_from(np.frombuffer(value.tobytes(), np.uint8), value.shape)
                inputs[place] = RequestArgument(len(pools), 0, 0)
                pools.append(buffer)
        for place in range(len(case.expected)):
            buffer = face.allocate(prepared, "output", place)
            if buffer is not None:
                self._results[place] = buffer
                outputs[place] = RequestArgument(len(pools), 0, 0)
                pools.append(buffer)
        self.buffers = len(pools) - len(request.pools)
        self.request = Request(tuple(inputs), tuple(outputs), tuple(pools))

    def outputs(self):
        """Arrays of the results, from the buffers or from client memory."""
        result = self._plain.outputs()
        for place, buffer in self._results.items():
            value = self._case.expected[place]
            raw = np.zeros(value.nbytes, np.uint8)
            if value.nbytes:
                buffer.copy_to(raw)
            result[place] = raw.view(value.dtype).reshape(value.shape)
        return result

    def damage(self):
        """What the driver wrote where it must not, or ""."""
        return self._plain.damage()


def _array(size):
    array = np.zeros(size, np.uint8)
    return array, array


def _align(offset):
    return offset + 3 & ~3
