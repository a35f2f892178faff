"""Building blocks of the operation files.

An operation is an `OpDef`: signature table, `validate` (model-time rules), `infer` (output shapes and the rules that
need values), `compute` (the defining numpy implementation) and, where it pays, `lower` (native steps). All of them
look at the operation through a `Node`, so that a rule reads the same at model time, at prepare and at execution.
"""

from itertools import product

import numpy as np

from ..checks import counted
from ..errors import GeneralFailure, InvalidArgument
from ..model import own
from ..model.types import (
    QUANT8_ASYMM_TYPES,
    VERSIONS,
    Definition,
    OperandType,
    OperationType,
    dtype_of,
    type_name,
)
from ..record import field, record, replace

MOST_NUMBERS = 1024
"""Most values read from an input that has one per dimension; more than this is always an error."""

# Short names of operand types as signatures write them [NN 13.2].
ABBREVIATIONS = {
    "f32": OperandType.FLOAT32, "i32": OperandType.INT32, "u32": OperandType.UINT32, "bool": OperandType.BOOL,
    "f16": OperandType.FLOAT16, "F32": OperandType.TENSOR_FLOAT32, "I32": OperandType.TENSOR_INT32,
    "Q8": OperandType.TENSOR_QUANT8_ASYMM, "Q16S": OperandType.TENSOR_QUANT16_SYMM, "F16": OperandType.TENSOR_FLOAT16,
    "B8": OperandType.TENSOR_BOOL8, "PC": OperandType.TENSOR_QUANT8_SYMM_PER_CHANNEL,
    "Q16A": OperandType.TENSOR_QUANT16_ASYMM, "Q8SY": OperandType.TENSOR_QUANT8_SYMM,
    "Q8S": OperandType.TENSOR_QUANT8_ASYMM_SIGNED, "sub": OperandType.SUBGRAPH,
} | own.ABBREVIATIONS


_BOOL = int(OperandType.BOOL)


class ValueUnknown(Exception):
    """Raised by Node.value/scalar when a rule needs the value of an operand that is known only at execution."""

    def __init__(self, operand):
        super().__init__(operand)
        self.operand = operand


@record(slots=True)
class Tensor:
    """An operand from the point of view of one operation.

    operand: its index in the graph; shape: () for scalars, None when the rank is unknown, entries None when unknown
    (a known 0 is a true zero size); value: array if known now; present: False when omitted; parameters: of a type of an
    extension.
    """

    operand: int
    type: int
    shape: tuple | None
    scale: float = 0.0
    zero_point: int = 0
    channel_quant: object = None
    value: np.ndarray | None = None
    present: bool = True
    parameters: object = None

    @property
    def dtype(self):
        return dtype_of(self.type)

    @property
    def is_known(self):
        """True when the whole shape is known."""
        return self.shape is not None and None not in self.shape


@record(frozen=True, slots=True)
class Slot:
    """One operand of a signature: name, type token (abbreviation or variable), optional or variadic."""

    name: str
    token: str
    optional: bool = False
    variadic: bool = False


class Signature:
    """One form of an operation: named operands, and the type sets they accept.

    text: ``"input:T filter:W bias:B activation:i32 -> output:T"``; any token but a type abbreviation is a variable;
    ``fT`` is the float scalar that goes with the first variable (f16 with F16, else f32). ``name?`` may be omitted,
    ``name*`` repeats (at least once). sets: ``"1.2: F16 F16"`` gives the variables, in order of appearance, and the
    version that brought the set. since: version of the form itself.
    """

    __slots__ = ("inputs", "outputs", "sets", "variables")

    def __init__(self, text, sets=("1.0:",), since="1.0"):
        left, right = text.split("->")
        self.inputs = tuple(_slot(word) for word in left.split())
        self.outputs = tuple(_slot(word) for word in right.split())
        names = []
        for slot in self.inputs + self.outputs:
            if slot.token not in ABBREVIATIONS and slot.token != "fT" and slot.token not in names:
                names.append(slot.token)
        self.variables = tuple(names)
        rows = []
        for row in sets:
            version, types = row.split(":")
            types = tuple(ABBREVIATIONS[word] for word in types.split())
            if len(types) != len(names):
                raise ValueError(f"signature {text!r}: row {row!r} must give {len(names)} types")
            rows.append((max(version, since, key=VERSIONS.index), dict(zip(names, types))))
        self.sets = tuple(rows)

    @classmethod
    def over(cls, text, choices, since):
        """A form whose type variables are independent of each other: choices {variable: types}."""
        form = cls(text, ())
        form.sets = tuple((since, dict(zip(form.variables, types)))
                          for types in product(*(choices[name] for name in form.variables)))
        return form

    def expand(self, count, slots):
        """The slot of each of `count` operands, or None if the count does not match."""
        for place, slot in enumerate(slots):
            if slot.variadic:
                repeats = count - (len(slots) - 1)
                if repeats < 1:
                    return None
                return slots[:place] + (slot,) * repeats + slots[place + 1:]
        return slots if count == len(slots) else None

    def type_of(self, slot, bindings):
        """Operand type of a slot under one type set."""
        if slot.token in bindings:
            return bindings[slot.token]
        if slot.token == "fT":
            half = bindings[self.variables[0]] == OperandType.TENSOR_FLOAT16
            return OperandType.FLOAT16 if half else OperandType.FLOAT32
        return ABBREVIATIONS[slot.token]

    def start(self):
        """The type sets, to be narrowed operand by operand."""
        return [bindings for _, bindings in self.sets]

    def types(self, left, slot):
        """The types of a slot in the remaining type sets."""
        return {self.type_of(slot, bindings) for bindings in left}

    def narrow(self, left, slot, actual):
        """The type sets that remain if a slot has this type."""
        return [bindings for bindings in left if self.type_of(slot, bindings) == actual]

    def match(self, inputs, outputs):
        """Version of the type set that matches these types, or None."""
        slots_in, slots_out = self.expand(len(inputs), self.inputs), self.expand(len(outputs), self.outputs)
        if slots_in is None or slots_out is None:
            return None
        for version, bindings in self.sets:
            if all(self.type_of(s, bindings) == t for s, t in zip(slots_in, inputs)) and \
                    all(self.type_of(s, bindings) == t for s, t in zip(slots_out, outputs)):
                return version
        return None


def _slot(word):
    name, token = word.split(":")
    return Slot(name.rstrip("?*"), token, "?" in name, "*" in name)


def forms(*texts_and_since, sets):
    """Several signatures that share their type sets: pairs of (text, since)."""
    return tuple(Signature(text, sets, since) for text, since in texts_and_since)


@record(slots=True, eq=False)
class OpDef:
    """One operation: of the standard, of a vendor's extension, or of nnfast's own (ops/own.py).

    validate(node): rules of model time; may call node.require(version).
    infer(node): list of output shapes; all input shapes are known; may raise ValueUnknown.
    compute(node, inputs): list of output arrays from input arrays (None = omitted): the reference.
    lower(node, build): emits native steps and returns None, or returns why numpy must do it.
    quant: what the quantization of the outputs must be: "free", "same" (as the first input of that type), or
        {type: (scale, zero_point)}; a tuple gives one rule per output.
    data_dependent: only compute knows the output shapes; infer gives None for what it cannot know.
    zero_sized: which zero dimensions are accepted at execution: "none", "batch" (dimension 0 of input 0), "any".
    half_inside: values inside the operation are rounded to float16 with float16 tensors, so that its float32 form gives
        other results.
    moves: it only changes layout or type: a trace marks it as transformation, all others as computation.
    multiply_adds: `work` of its steps counts multiply-adds; that of all others counts elements.
    coupled: its forms for unsigned and for signed codes must agree.
    of_shapes: its outputs depend only on the shapes of its inputs, not on their values.
    """

    type: OperationType | Definition
    signatures: tuple
    infer: object
    compute: object
    validate: object = None
    lower: object = None
    quant: object = "free"
    zero_sized: str = "none"
    data_dependent: bool = False
    half_inside: bool = False
    moves: bool = False
    multiply_adds: bool = False
    coupled: bool = True
    of_shapes: bool = False
    name: str = field(init=False)
    forms: dict = field(init=False, default_factory=dict, repr=False)

    def __post_init__(self):
        self.name = self.type.name


def _nothing():
    """go_on of a node without limits on its computation."""


KEPT_FORMS = 64
"""Size of the cache of an operation's forms by operand types: models repeat a few."""


class Node:
    """An operation in its graph, with what is known of its operands so far.

    arithmetic: the model's; slots: the signature slot of each input; memo: results of `once`; go_on: called by
    `compute` between parts of long work, may raise to end the execution; frame: ((top, bottom), (left, right)), by how
    much the image that a convolution was given was larger than its input is now (compiler/passes/pad_fusion.py).
    """

    __slots__ = ("op", "path", "signature", "inputs", "outputs", "version", "relaxed", "arithmetic", "slots", "memo",
                 "go_on", "frame", "_names")

    def __init__(self, op, path, inputs, outputs, relaxed=False, arithmetic="nnapi"):
        self.op, self.path, self.inputs, self.outputs = op, path, list(inputs), list(outputs)
        self.relaxed, self.arithmetic = relaxed, arithmetic
        types = tuple([t.type for t in self.inputs]), tuple([t.type for t in self.outputs])
        form = op.forms.get(types)
        if form is None:
            form = self._form(*types)
            if len(op.forms) < KEPT_FORMS:
                op.forms[types] = form
        self.signature, self.version, self.slots, self._names = form
        self.memo = {}
        self.go_on = _nothing
        self.frame = None

    # -- signature -----------------------------------------------------------------------------------------------
    def _form(self, types_in, types_out):
        """(signature, version, slot of each input, {name: places}) of these operand types; the same for every node."""
        for signature in self.op.signatures:
            version = signature.match(types_in, types_out)
            if version is not None:
                slots, names = signature.expand(len(types_in), signature.inputs), {}
                for place, slot in enumerate(slots):
                    names.setdefault(slot.name, []).append(place)
                return signature, version, slots, names
        raise InvalidArgument(f"{self.path}{self._mismatch(types_in, types_out)}")

    def _mismatch(self, types_in, types_out):
        signatures = self.op.signatures
        fit = [s for s in signatures if s.expand(len(types_in), s.inputs) is not None]
        if not fit:
            counts = sorted({len(s.inputs) for s in signatures})
            more = " or more" if any(slot.variadic for s in signatures for slot in s.inputs) else ""
            return f": has {counted(len(types_in), 'input')}, must have {_either(counts)}{more}"
        full = [s for s in fit if s.expand(len(types_out), s.outputs) is not None]
        if not full:
            counts = sorted({len(s.outputs) for s in fit})
            more = " or more" if any(slot.variadic for s in fit for slot in s.outputs) else ""
            return f": has {counted(len(types_out), 'output')}, must have {_either(counts)}{more}"
        # Narrow the type sets operand by operand; the first operand that leaves none is the one to report.
        alive = [(s, s.expand(len(types_in), s.inputs) + s.expand(len(types_out), s.outputs), s.start()) for s in full]
        for place, actual in enumerate((*types_in, *types_out)):
            allowed = set().union(*(s.types(left, slots[place]) for s, slots, left in alive))
            if actual not in allowed:
                role = f"input {place}" if place < len(types_in) else f"output {place - len(types_in)}"
                names = {slots[place].name for _, slots, _ in alive}
                label = f" ({names.pop()})" if len(names) == 1 else ""
                rule = _either(type_name(t) for t in sorted(allowed, key=_order))
                return f" {role}{label}: type {type_name(actual)}, must be {rule}"
            alive = [(s, slots, s.narrow(left, slots[place], actual)) for s, slots, left in alive
                     if actual in s.types(left, slots[place])]
        raise AssertionError("a signature matched after all")

    def with_values(self, arrays, go_on=None):
        """A copy whose inputs have these values (None: unchanged); go_on: the copy's."""
        copy = object.__new__(Node)
        for name in Node.__slots__:
            setattr(copy, name, getattr(self, name))
        copy.inputs = [t if a is None or t.value is not None else replace(t, value=a) for t, a in
                       zip(self.inputs, arrays)]
        copy.go_on = go_on or self.go_on
        return copy

    def once(self, key, compute):
        """Result of compute(), cached under a key, for what validation, inference and lowering all need."""
        if key not in self.memo:
            self.memo[key] = compute()
        return self.memo[key]

    # -- access --------------------------------------------------------------------------------------------------
    def has(self, name):
        """True if the form has this operand and it is present."""
        places = self._names.get(name)
        return places is not None and self.inputs[places[0]].present

    def __getitem__(self, name):
        """Input tensor by signature name (outputs: node.outputs)."""
        return self.inputs[self._names[name][0]]

    def group(self, name):
        """All tensors of a variadic input."""
        return [self.inputs[place] for place in self._names[name]]

    def place(self, name):
        """Index of an input among the operation's inputs."""
        return self._names[name][0]

    def value(self, name):
        """Array value of an input; raises ValueUnknown if it is not known yet."""
        tensor = self[name]
        if not tensor.present:
            self.fail(name, "is omitted, must have a value")
        if tensor.value is None:
            raise ValueUnknown(tensor.operand)
        return tensor.value

    def numbers(self, name):
        """The values of an input that has one per dimension of something, as a list. Raises ValueUnknown as `value`."""
        value = self.value(name)
        if value.size > MOST_NUMBERS:
            self.fail(name, f"has {value.size} values, must have at most {MOST_NUMBERS}")
        return value.reshape(-1).tolist()

    def element(self, name, array):
        """The first element of what an input holds, of one that stands for a scalar."""
        if not array.size:
            self.fail(name, "has no value, must have one")
        return array.reshape(-1)[0]

    def scalar(self, name, default=None):
        """Python value of a scalar input; `default` if the form has no such operand."""
        places = self._names.get(name)
        if places is None:
            return default
        tensor = self.inputs[places[0]]
        # Fast path for the common case; value() raises for all others.
        value = tensor.value if tensor.present and tensor.value is not None else self.value(name)
        if not value.size:
            self.fail(name, "has no value, must have one")
        item = value.item(0)
        return bool(item) if tensor.type == _BOOL else item

    def check_elements(self, name):
        """The shape of an input must not have a 0."""
        if 0 in self[name].shape:
            self.fail(name, f"shape is {list(self[name].shape)}, must have elements")

    @property
    def is_litert(self):
        """True if integer results must be those of LiteRT's reference kernels."""
        return self.arithmetic == "litert"

    @property
    def layout_nchw(self):
        """True if the form has a layout flag and it says NCHW [NN 13.9]."""
        return self.scalar("layout", False)

    # -- rules ---------------------------------------------------------------------------------------------------
    def where(self, name, nth=0):
        """Path of an input (by name) or output (by number) for messages."""
        if isinstance(name, int):
            return f"output {name}"
        return f"input {self._names[name][nth]} ({name})"

    def fail(self, name, text, nth=0):
        """Raise InvalidArgument. name: an input name, an output number, or None for the operation itself; nth: which
        one of a variadic input.
        """
        place = "" if name is None else f" {self.where(name, nth)}"
        raise InvalidArgument(f"{self.path}{place}: {text}")

    def fail_run(self, name, text):
        """As fail, but GeneralFailure: for errors that depend on the values of an execution."""
        place = "" if name is None else f" {self.where(name)}"
        raise GeneralFailure(f"{self.path}{place}: {text}")

    def require(self, version):
        """Record that this use needs at least `version` of the HAL."""
        self.version = max(self.version, version, key=VERSIONS.index)

    def check_rank(self, name, low, high=None):
        """Known rank of an input must lie in low..high (high defaults to low)."""
        shape = self[name].shape
        high = low if high is None else high
        if shape is not None and not low <= len(shape) <= high:
            rule = f"{low}" if low == high else f"{low} to {high}"
            self.fail(name, f"rank is {len(shape)}, must be {rule}")

    def check_in(self, name, allowed, default=None):
        """Scalar value must be one of `allowed`; returns it."""
        value = self.scalar(name, default)
        if value not in allowed:
            self.fail(name, f"is {value}, must be {_either(allowed)}")
        return value

    def axis(self, name="axis", rank=None, negative=True):
        """Axis value, normalized to 0..rank-1."""
        rank = len(self.inputs[0].shape) if rank is None else rank
        value = self.scalar(name, -1)
        low = -rank if negative else 0
        if not low <= value < rank:
            self.fail(name, f"is {value}, must be in [{low}, {rank})")
        return value + rank if value < 0 else value


def _order(kind):
    return (1, kind.name) if isinstance(kind, Definition) else (0, kind)


def _either(items):
    items = [str(item) for item in items]
    if len(items) < 2:
        return "".join(items)
    return ", ".join(items[:-1]) + " or " + items[-1]


def broadcast_shape(node, first, second):
    """Shape of a numpy-style broadcast of two inputs [NN 13.7]."""
    a, b = node[first].shape, node[second].shape
    rank = max(len(a), len(b))
    result = []
    for x, y in zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b):
        if x != y and x != 1 and y != 1:
            node.fail(second, f"shape {list(b)} does not broadcast with {list(a)}")
        result.append(y if x == 1 else x)
    return tuple(result)


def check_activation(node, name="activation"):
    """Fused activation code of a non-recurrent operation [NN 13.8]."""
    return node.check_in(name, (0, 1, 2, 3))


def check_same_quant(node, name):
    """8-bit inputs of this name must have the output's scale and zero point."""
    target = node.outputs[0]
    for nth, source in enumerate(node.group(name)):
        if is_quant8(source) and (source.scale, source.zero_point) != (target.scale, target.zero_point):
            node.fail(name, f"scale {source.scale:.9g} and zero point {source.zero_point}, must be those of the "
                            f"output, {target.scale:.9g} and {target.zero_point}", nth)


def is_quant8(tensor):
    """True for TENSOR_QUANT8_ASYMM and its signed twin."""
    return tensor.type in QUANT8_ASYMM_TYPES
