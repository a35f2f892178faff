"""Devices that run models of one elementwise ADD, right or wrong in one chosen way, to try the conformance tests on."""

import os
import signal
import time

import numpy as np

from nnfast import Fence, Memory
from nnfast.compiler.check import check_model
from nnfast.driver.request import ExecutionResult, OutputShape, Timing
from nnfast.errors import GeneralFailure, InvalidArgument, MissedDeadlineTransient, OutputInsufficientSize
from nnfast.model.types import OperandType


class Right:
    """Adds as it should."""

    def __init__(self, num_threads=None):
        self.num_threads = num_threads

    def supported_operations(self, model):
        return [True] * len(model.main.operations)

    def prepare(self, model, priority="low", deadline=None):
        return Prepared(self, model)

    def allocate(self, input_roles=(), output_roles=()):
        raise GeneralFailure("no memory of its own")

    def add(self, model, a, b):
        return (a + b) ^ np.int8(-128) if a.dtype == np.int8 else a + b  # zero point -128, as in the signed twin

    def dims(self, dims):
        return dims

    def timing(self, measured):
        return Timing(5, 7) if measured else Timing()

    def check_size(self, dims, short):
        if short:
            raise OutputInsufficientSize("output 0 is too small", [OutputShape(dims, False)])

    def after_write(self, pool, argument):
        pass

    def before_loops(self, loop_timeout):
        pass

    def check_request(self, model, request):
        pass

    def wait(self, fence):
        fence.wait(600)


class Prepared:
    def __init__(self, device, model):
        self.device, self.model = device, model

    def compute(self, arrays):
        return self.device.add(self.model, *arrays)

    def run(self, arrays):
        return [self.compute(arrays)]

    def execute_fenced(self, request, wait_for=(), measure_timing=False, **limits):
        """Runs at once; refuses outputs of unknown size and short buffers, as the standard wants."""
        self.device.check_request(self.model, request)
        for fence in wait_for:
            self.device.wait(fence)
        shape = self.model.main.operands[self.model.main.outputs[0]]
        if 0 in shape.dims or request.outputs[0].length < shape.nbytes:
            raise InvalidArgument("request output 0: is not of a known size")
        return Fenced(self.execute(request, measure_timing, **limits))

    def execute(self, request, measure_timing=False, loop_timeout=None, deadline=None):
        self.device.before_loops(loop_timeout)
        self.device.check_request(self.model, request)
        pools = [pool.array() if isinstance(pool, Memory) else pool for pool in request.pools]
        arrays = []
        for index, argument in zip(self.model.main.inputs, request.inputs):
            operand = self.model.main.operands[index]
            raw = pools[argument.pool][argument.offset:argument.offset + argument.length]
            arrays.append(raw.view(operand.dtype).reshape(operand.dims))
        result, argument = self.compute(arrays), request.outputs[0]
        self.device.check_size(result.shape, argument.length < result.nbytes)
        pool = pools[argument.pool]
        value = np.frombuffer(result.tobytes(), np.uint8)[:argument.length]
        pool[argument.offset:argument.offset + value.size] = value
        self.device.after_write(pool, argument)
        shapes = (OutputShape(self.device.dims(result.shape), True),)
        return ExecutionResult(shapes, self.device.timing(measure_timing))


class Fenced:
    """A fenced execution that has ended."""

    def __init__(self, result):
        self.result, self.fence = result, Fence()
        self.fence.signal()

    def info(self):
        return self.result.timing, self.result.timing


class OffByOne(Right):
    def add(self, model, a, b):
        return (a + b + 1).astype(a.dtype)


class OffByTwo(Right):
    def add(self, model, a, b):
        return (a + b + 2).astype(a.dtype)


class NotANumber(Right):
    def add(self, model, a, b):
        return (a + b) * np.float32(np.nan)


class Raises(Right):
    def add(self, model, a, b):
        raise GeneralFailure("no such luck")


class Breaks(Right):
    def add(self, model, a, b):
        raise KeyError("oops")


class Crashes(Right):
    """Dies in the middle of the test whose name holds "crash"."""

    def add(self, model, a, b):
        if "crash" in model.name:
            os.kill(os.getpid(), signal.SIGSEGV)
        return a + b


class NeverReady(Right):
    def __init__(self, num_threads=None):
        while True:
            time.sleep(60)


class Hangs(Right):
    def add(self, model, a, b):
        if "hang" in model.name:
            while True:
                time.sleep(60)
        return a + b


class ClaimsNothing(Right):
    def supported_operations(self, model):
        return [False] * len(model.main.operations)

    def prepare(self, model):
        raise InvalidArgument("main.operation[0] ADD: not supported")


class ClaimsAndRefuses(ClaimsNothing):
    def supported_operations(self, model):
        return [True] * len(model.main.operations)


class NoFlags(Right):
    def supported_operations(self, model):
        return []


class WrongShape(Right):
    def dims(self, dims):
        return (*dims, 1)


class AlwaysTimes(Right):
    def timing(self, measured):
        return Timing(5, 7)


class NeverTimes(Right):
    def timing(self, measured):
        return Timing()


class TimesBackwards(Right):
    def timing(self, measured):
        return Timing(8, 7) if measured else Timing()


class AcceptsShort(Right):
    def check_size(self, dims, short):
        pass


class BlamesNoOutput(Right):
    def check_size(self, dims, short):
        if short:
            raise OutputInsufficientSize("too small", [OutputShape(dims, True)])


class WrongDims(Right):
    def check_size(self, dims, short):
        if short:
            raise OutputInsufficientSize("too small", [OutputShape((dims[0] + 1, *dims[1:]), False)])


class WritesBeyond(Right):
    def after_write(self, pool, argument):
        if argument.offset + argument.length < pool.size:
            pool[argument.offset + argument.length] = 0


class StaticOnly(Right):
    """Cannot run models with unknown output shapes."""

    def add(self, model, a, b):
        if 0 in model.main.operands[model.main.outputs[0]].dims:
            raise GeneralFailure("dynamic shapes are not supported")
        return a + b


class WantsTwoThreads(Right):
    def add(self, model, a, b):
        if self.num_threads != 2:
            raise GeneralFailure(f"{self.num_threads} threads")
        return a + b


class ChangesInput(Right):
    def add(self, model, a, b):
        result = a + b
        if a.flags.writeable:
            a[0] = 9
        return result


class AnswersOtherwise(Right):
    """Says InvalidArgument where a buffer is too small."""

    def check_size(self, dims, short):
        if short:
            raise InvalidArgument("output 0: length is too small")


class OtherPrepared(Prepared):
    def run(self, arrays):
        return [self.device.through_run(super().run(arrays)[0])]


class WrongInRun(Right):
    def prepare(self, model):
        return OtherPrepared(self, model)

    def through_run(self, array):
        return array + np.float32(0.5)


class WideInRun(WrongInRun):
    def through_run(self, array):
        return array.astype(np.float64)


class DiesAtStart(Right):
    def __init__(self, num_threads=None):
        os._exit(7)


class UnsignedOnly(Right):
    """Neither claims nor takes signed codes."""

    def supported_operations(self, model):
        return [not self._signed(model)] * len(model.main.operations)

    def prepare(self, model):
        if self._signed(model):
            raise InvalidArgument("main.operation[0] ADD: signed codes are not supported")
        return Prepared(self, model)

    @staticmethod
    def _signed(model):
        return any(o.type == OperandType.TENSOR_QUANT8_ASYMM_SIGNED for o in model.main.operands)


class WrongWithSigned(Right):
    def add(self, model, a, b):
        return super().add(model, a, b) + a.dtype.type(2 if a.dtype == np.int8 else 0)


class RunsOutOfTime(Right):
    """Misses every loop timeout of a millisecond."""

    def before_loops(self, loop_timeout):
        if loop_timeout == 0.001:
            raise MissedDeadlineTransient("main.operation[0] WHILE: no time is left")


class StopsLoopsOtherwise(Right):
    def before_loops(self, loop_timeout):
        raise InvalidArgument("main.operation[0] WHILE: no time is left")


class Strict(Right):
    """Looks at models, requests and the arguments of prepare as it should."""

    def supported_operations(self, model):
        self.check(model)
        return super().supported_operations(model)

    def prepare(self, model, preference="low_power", priority="low", deadline=None):
        self.check(model)
        if not isinstance(preference, str) or not isinstance(priority, str):
            raise InvalidArgument(f"prepare: preference {preference} or priority {priority} is wrong")
        return super().prepare(model)

    def check(self, model):
        check_model(model)

    def check_request(self, model, request):
        if (len(request.inputs), len(request.outputs)) != (len(model.main.inputs), len(model.main.outputs)):
            raise InvalidArgument("request: an argument is missing")


class OverlooksScales(Strict):
    def check(self, model):
        try:
            check_model(model)
        except InvalidArgument as error:
            if "scale is" not in str(error):
                raise


class RefusesInTwoLines(Strict):
    def check(self, model):
        try:
            check_model(model)
        except InvalidArgument as error:
            refusal = InvalidArgument(str(error))
            refusal.args = (f"{error}\nand more",)
            raise refusal from None


class BreaksOnBadOrder(Strict):
    def check(self, model):
        try:
            check_model(model)
        except InvalidArgument as error:
            if "before it is written" in str(error):
                raise IndexError("oops") from None
            raise


class TakesNoPriority(Right):
    """Claims the operations, and refuses some priorities of preparations."""

    def prepare(self, model, priority="low", deadline=None):
        if priority == "high":
            raise GeneralFailure("no such priority")
        return Prepared(self, model)


class NeverInTime(Right):
    def before_loops(self, loop_timeout):
        raise MissedDeadlineTransient("always late")


class RefusesFences(Right):
    def wait(self, fence):
        raise GeneralFailure("no waiting")


class WrongRoles(Right):
    def allocate(self, input_roles=(), output_roles=()):
        raise InvalidArgument("allocate: there is no such role")
