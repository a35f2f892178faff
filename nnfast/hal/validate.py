"""validateModel, validateRequest and the like: is it well formed by the rules of its version [NN 11]?

They answer True or False and log the reason of a False; `reason` gives it. What only a device can tell (is an operation
supported, does a token live, has a buffer the role) is not asked.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING

from ..checks import shown
from ..compiler.check import check_model
from ..driver.buffers import NamedBuffer
from ..driver.form import RequestForm
from ..driver.pools import bind_request
from ..errors import Error, GeneralFailure
from . import models, requests
from .pools import to_memory
from .refusals import log
from .types import MODELS, ExecutionPreference, MeasureTiming, MemoryPool, Priority, Request
from .values import fail, member, record, version

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..driver.memory import Memory as SharedMemory
    from .types import Memory, Model1_0, Model1_3

_VERSIONS = {kind: hal for hal, kind in MODELS.items()}


def reason(check: Callable[..., bool], *arguments: Any) -> str:
    """Why a value is not well formed, or "": the same checks, as ``reason(validateModel, model)``.

    Raises InvalidArgument for a check that this module does not have.
    """
    if not isinstance(check, FunctionType) or check not in _CHECKS:
        fail("check", f"is {shown(check)}, must be a function of this module")
    try:
        _CHECKS[check](*arguments)
    except Error as error:
        return str(error)
    return ""


def validateModel(model: Model1_0 | Model1_3) -> bool:
    """True for a well-formed Model of any version."""
    return _answer(validateModel, model)


def validateRequest(request: Request, model: Model1_0 | Model1_3, allowUnspecifiedOutput: bool = True) -> bool:
    """True for a well-formed Request for a valid Model; pools tell whether it is one of 1.3.

    request: the Request; model: the Model that it is for. allowUnspecifiedOutput: False for calls of 1.0 and 1.1 and
    for executeFenced.
    """
    return _answer(validateRequest, request, model, allowUnspecifiedOutput)


def validateExecutionPreference(preference: ExecutionPreference) -> bool:
    """True for an ExecutionPreference."""
    return _answer(validateExecutionPreference, preference)


def validatePriority(priority: Priority) -> bool:
    """True for a Priority."""
    return _answer(validatePriority, priority)


def validateMeasureTiming(measure: MeasureTiming) -> bool:
    """True for a MeasureTiming."""
    return _answer(validateMeasureTiming, measure)


def validatePool(pool: Memory | SharedMemory | MemoryPool, hal: str = "1.3") -> bool:
    """True for memory that a version has: hidl_memory or nnfast.Memory, in 1.3 also a MemoryPool."""
    return _answer(validatePool, pool, hal)


def _answer(check, *arguments):
    text = reason(check, *arguments)
    if text:
        log.info("%s: %s", check.__name__, text)
    return not text


def _model(model):
    if type(model) not in _VERSIONS:
        fail("model", f"is {type(model).__name__}, must be a Model of HAL 1.0 to 1.3")
    hal = _VERSIONS[type(model)]
    canonical = models.to_canonical(model, hal)
    check_model(canonical, hal)
    return canonical


def _request(request, model, allow_unspecified):
    canonical = _model(model)
    record(request, Request, "request")
    newest = any(isinstance(pool, MemoryPool) for pool in request.pools) if isinstance(request.pools, list) else False
    converted = requests.to_canonical(request, "1.3" if newest else "1.2", NamedBuffer)
    if not allow_unspecified:
        requests.check_outputs(converted.outputs, canonical.main, "this call")
    try:
        bind_request(RequestForm(canonical.main), converted, started=False)
    except GeneralFailure:
        pass  # memory that cannot be mapped now is well formed


def _pool(pool, hal):
    if isinstance(pool, MemoryPool) and version(hal) == "1.3":
        requests.pool_of(pool, hal, NamedBuffer, "pool")
    else:
        to_memory(pool, version(hal), "pool")


_CHECKS = {
    validateModel: _model,
    validateRequest: _request,
    validateExecutionPreference: lambda value: member(value, ExecutionPreference, "preference"),
    validatePriority: lambda value: member(value, Priority, "priority"),
    validateMeasureTiming: lambda value: member(value, MeasureTiming, "measure"),
    validatePool: _pool,
}
