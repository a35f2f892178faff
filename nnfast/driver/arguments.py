"""Checks and conversions of the arrays that a caller passes to run, and of prepare's options about operands."""

from collections.abc import Mapping, Sequence
from numbers import Integral

import numpy as np

from .._native.threads import now_ns
from ..checks import kind_of, shown
from ..errors import InvalidArgument
from ..model.types import LifeTime, OperandType
from ..record import replace
from .profile import active_profile
from .tensors import array_of


def as_stored(array):
    """A caller's array as steps read it: bool viewed as bytes."""
    return array.view(np.uint8) if array.dtype.kind == "b" else array


def as_given(array, dtype):
    """A step's array (or None) in the dtype that the caller gets: bytes viewed as bool if that is bool."""
    return array if array is None or array.dtype.kind != "u" or dtype.kind != "b" else array.view(dtype)


def initial_value(operand, state):
    """Array that a state input starts from."""
    if state.initial is not None:
        return state.initial
    value = np.full(operand.dims, operand.zero_point, operand.dtype)
    value.flags.writeable = False
    return value


def find_operand(graph, key):
    """Operand index of a kept operand, by name or index."""
    if isinstance(key, str):
        found = [i for i, o in enumerate(graph.operands) if o.name == key]
        if len(found) != 1:
            raise InvalidArgument(f"prepare keep: {len(found) or 'no'} operands are named {shown(key)}, must be one")
        key = found[0]
    if not 0 <= key < len(graph.operands) or graph.operands[key].lifetime != LifeTime.TEMPORARY_VARIABLE:
        raise InvalidArgument(f"prepare keep: operand {shown(key)} is not an intermediate operand of the main graph")
    return key


def plain_shapes(input_shapes):
    """`input_shapes` as {input name or position: tuple of int}; {} for None. Raises InvalidArgument."""
    if input_shapes is None:
        return {}
    if not isinstance(input_shapes, Mapping):
        raise InvalidArgument(f"prepare input_shapes: is {kind_of(input_shapes)}, must be a dict of shapes by "
                              "name or position")
    shapes = {}
    for key, shape in input_shapes.items():
        if not isinstance(shape, Sequence | np.ndarray) or not all(isinstance(d, Integral) and d >= 1 for d in shape):
            raise InvalidArgument(f"prepare input_shapes[{shown(key)}]: is {shown(shape)}, must be positive dimensions")
        shapes[plain_key(key, f"prepare input_shapes: key {shown(key)}")] = tuple(int(d) for d in shape)
    return shapes


def plain_keys(keep):
    """`keep` as a list of names and operand indexes; None for None. Raises InvalidArgument."""
    if keep is None:
        return None
    if not isinstance(keep, list | tuple):
        raise InvalidArgument(f"prepare keep: is {kind_of(keep)}, must be a list of names or operand indexes")
    return [plain_key(key, f"prepare keep: {shown(key)}") for key in keep]


def plain_key(key, what):
    """`key` as a str or an int. what: start of the error message. Raises InvalidArgument."""
    if isinstance(key, str):
        return key
    if isinstance(key, Integral) and not isinstance(key, bool):
        return int(key)
    raise InvalidArgument(f"{what} must be a name or a whole number")


def resized(model, input_shapes):
    """The model with other input shapes; shapes of computed operands are left to inference."""
    shapes = plain_shapes(input_shapes)
    if not shapes:
        return model
    graph = model.main
    names = {graph.operands[o].name: o for o in graph.inputs if graph.operands[o].name}
    operands = list(graph.operands)
    for key, shape in shapes.items():
        operand = names.get(key) if isinstance(key, str) else \
            graph.inputs[key] if 0 <= key < len(graph.inputs) else None
        if operand is None:
            raise InvalidArgument(f"prepare input_shapes: no input {shown(key)}; there are "
                                  f"{', '.join(map(repr, names))}")
        if len(shape) != len(operands[operand].dims):
            raise InvalidArgument(f"prepare input_shapes[{shown(key)}]: is {list(shape)}, must be "
                                  f"{len(operands[operand].dims)} positive dimensions")
        operands[operand] = replace(operands[operand], dims=shape)
    for operation in graph.operations:
        for operand in operation.outputs:
            if not operands[operand].is_scalar:
                operands[operand] = replace(operands[operand], dims=(0,) * len(operands[operand].dims))
    return model.with_main(operands=tuple(operands))


def in_list(arrays, call, role="inputs"):
    """The caller's arrays, in model order, as a list. Raises InvalidArgument for anything but a sequence."""
    if isinstance(arrays, list | tuple):
        return list(arrays)
    raise InvalidArgument(f"{call}: {role} is {kind_of(arrays)}, must be a list of arrays in model order"
                          f"{'; pass [x]' if isinstance(arrays, np.ndarray) else ''}")


def in_order(inputs, infos, call):
    """The caller's inputs, a list or a dict by name, as a list in model order. Raises InvalidArgument."""
    return named(inputs, infos, "input") if isinstance(inputs, dict) else in_list(inputs, call)


def as_asked(results, by_name, infos):
    """Results of a run as its caller gets them: a dict by name where the inputs were one, else the list."""
    return dict(zip((info.name for info in infos), results)) if by_name else results


def named(given, infos, role):
    """List in model order from a dict by name. Raises InvalidArgument for unknown or missing names."""
    if not isinstance(given, Mapping):
        raise InvalidArgument(f"run {role}s: is {kind_of(given)}, must be a dict of arrays by name")
    names = [info.name for info in infos]
    unknown = [name for name in given if name not in names]
    if unknown:
        raise InvalidArgument(f"run {role} {shown(unknown[0])}: no such {role}; there are "
                              f"{', '.join(map(repr, names))}")
    missing = [name for name in names if name not in given]
    if missing:
        raise InvalidArgument(f"run {role} {shown(missing[0])}: is missing")
    return [given[name] for name in names]


def taken_inputs(infos, values, quantize=False):
    """The caller's inputs as arrays that an execution can read directly. None stays None; arrays that are not
    C-contiguous and aligned are copied, which a profile reports.

    quantize: convert float arrays for quantized inputs. Raises InvalidArgument for arrays whose dtype or shape is not
    exactly the input's; bool and bytes are interchangeable.
    """
    return [None if value is None else taken_input(info, value, quantize) for info, value in zip(infos, values)]


def taken_input(info, value, quantize=False):
    """One array of taken_inputs."""
    array = array_of(info, value)
    if quantize and info.is_quantized and array.dtype.kind == "f":
        array = info.quantize(array)
    if info.type == OperandType.TENSOR_BOOL8 and array.dtype in (np.bool_, np.uint8):
        array = array.view(info.dtype)
    _check_array("input", info, array)
    _check_shape(info, array)
    if array.flags.c_contiguous and array.flags.aligned:
        return array
    began = now_ns()
    copy = np.array(array, order="C")
    profile = active_profile()
    if profile is not None:
        profile.copied(info.name, array.nbytes, now_ns() - began)
    return copy


def _check_shape(info, array):
    least = 0 if info.takes_empty else 1
    if info.shape is None:
        if min(array.shape, default=-1) < least:
            raise InvalidArgument(f"run input {info.name!r}: shape is {_text(array.shape)}, must be "
                                  f"{'at least one size' if info.takes_empty else 'positive'}")
        return
    if len(array.shape) != len(info.shape) or \
            any(w not in (None, g) or g < least for g, w in zip(array.shape, info.shape)):
        wanted = ["?" if d is None else d for d in info.shape]
        raise InvalidArgument(f"run input {info.name!r}: shape is {_text(array.shape)}, must be {_text(wanted)}")


def check_output(info, array, shape, dtype, others):
    """Raise InvalidArgument if an output array does not fit, is read-only, or overlaps another argument."""
    if not isinstance(array, np.ndarray):
        raise InvalidArgument(f"run output {info.name!r}: is {kind_of(array)}, must be a numpy array of dtype "
                              f"{info.dtype}")
    _check_array("output", info, array)
    if not array.flags.c_contiguous or not array.flags.aligned:
        raise InvalidArgument(f"run output {info.name!r}: the array is not C-contiguous and aligned; give one that "
                              "is, or none")
    if array.shape != shape:
        raise InvalidArgument(f"run output {info.name!r}: shape is {_text(array.shape)}, must be {_text(shape)}")
    if not array.flags.writeable:
        raise InvalidArgument(f"run output {info.name!r}: the array is read-only")
    if any(other is not None and np.may_share_memory(array, other) for other in others):
        raise InvalidArgument(f"run output {info.name!r}: shares memory with another input or output; give it its own")


def _check_array(role, info, array):
    if array.dtype != info.dtype:
        fix = "; for real numbers pass quantize=True to run, or the input's quantize(x) to any call" \
            if role == "input" and info.is_quantized and array.dtype.kind == "f" else ""
        raise InvalidArgument(f"run {role} {info.name!r}: dtype is {_dtype(array.dtype)}, must be {info.dtype}{fix}")


def _dtype(dtype):
    return f"{dtype} with swapped bytes" if not dtype.isnative else str(dtype)


def _text(shape):
    return "[" + ", ".join(map(str, shape)) + "]"
