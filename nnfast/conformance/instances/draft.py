"""Random legal models of one operation: what an operation needs is drawn by the maker of its family.

A maker fills a `Draft`: values of the inputs by their signature names and, where the rule of the operation leaves it
open, the quantization of the outputs. `draw` makes a model of it and gives the arrays of the model's inputs. The same
seed and limit give the same instance.

A draft may be made offers: values that are there already, of the operations before it in a graph. Where one has the
type, shape and quantization that an input needs, the input often takes it; sizes and quantizations are drawn so that
the wish, one of the offers, fits more often than chance would have it.
"""

from dataclasses import dataclass, replace
from importlib import import_module
from itertools import count, takewhile
from zlib import crc32

import numpy as np

from ...compiler.nodes import Facts, check_zero_sized
from ...model.builder import ModelBuilder
from ...model.types import DTYPES, QUANT_RANGE, QUANTIZED_TYPES, SCALAR_TYPES, OperandType, OperationType
from ...ops import registry

T = OperandType
FAMILIES = ("elementwise", "movement", "window", "norm", "recurrent", "detection")
CONTROL_FLOW = ("IF", "WHILE")
SYMMETRIC = frozenset((T.TENSOR_QUANT16_SYMM, T.TENSOR_QUANT8_SYMM))
ODD_FLOATS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-7, -6e4)
WISHED, TAKEN = 0.8, 0.8
"""Shares of drafts that suit their wish, and of inputs that take an offer which fits."""

_MAKERS = {}


def makes(*names, odd=()):
    """Register a maker for these operations: a function of a Draft.

    odd: inputs of the operation that now and then get floats that are no ordinary numbers.
    """
    def register(maker):
        def make(draft):
            maker(draft)
            draft.sprinkle([value for name in odd for value in draft.given[name]])

        for name in names:
            _MAKERS[name] = make
        return maker

    return register


def load_makers():
    """Import the family files, once; returns all makers by operation name."""
    for family in FAMILIES:
        import_module(f".{family}", __package__)
    return _MAKERS


def table():
    """(name, operation, signature number, type set number) of everything in the signature tables but control flow."""
    rows = []
    for code in registry.supported_codes():
        op = registry.lookup(code)
        if OperationType(code).name in CONTROL_FLOW:
            continue
        for form, signature in enumerate(op.signatures):
            for nth, (_, bindings) in enumerate(signature.sets):
                types = "_".join(T(code).name.removeprefix("TENSOR_") for code in bindings.values())
                rows.append((f"{op.name}-{form}-{types}", op, form, nth))
    return rows


@dataclass(slots=True, eq=False)
class Offer:
    """A value that an input may take instead of one of its own."""

    type: int
    array: np.ndarray
    scale: float = 0.0
    zero_point: int = 0


@dataclass(slots=True, eq=False)
class Value:
    """An input: its array (None = omitted), quantization, and whether it is a constant of the model.

    source: the Offer that it is, if any; its array is then a copy of the offer's.
    """

    type: int
    array: np.ndarray | None
    scale: float = 0.0
    zero_point: int = 0
    channels: tuple | None = None
    constant: bool = True
    source: Offer | None = None


@dataclass(slots=True)
class Instance:
    """A model of one operation, the arrays of its inputs, and what makes it again."""

    model: object
    arrays: list
    text: str

    def node(self):
        """The operation with all values known, checked and its outputs inferred, as the execution sees it."""
        return self.known()[1]

    def known(self):
        """(Facts, node) of the same."""
        facts = Facts(self.model, self.model.main)
        for operand, array in zip(self.model.main.inputs, self.arrays, strict=True):
            facts.of[operand].value, facts.of[operand].shape = array, array.shape
        node = facts.node(0)
        if node.op.validate is not None:
            node.op.validate(node)
        check_zero_sized(node)
        shapes = node.op.infer(node)
        if not node.op.data_dependent:
            facts.settle(node, shapes)
        return facts, node

    def declared(self, node):
        """The same instance whose outputs declare the shapes that the node inferred.

        A CAST of an input with open dimensions stays as it is: both must declare the same [NN 15.1].
        """
        main = self.model.main
        if node.op.type == OperationType.CAST and 0 in main.operands[main.inputs[0]].dims:
            return self
        operands = list(main.operands)
        for tensor in node.outputs:
            if tensor.shape and None not in tensor.shape:
                operands[tensor.operand] = replace(operands[tensor.operand], dims=tensor.shape)
        return replace(self, model=self.model.with_main(operands=tuple(operands)))


class Draft:
    """One operation while it is drawn. wish: the one of the offers that it should take rather than others, or None."""

    def __init__(self, op, signature, bindings, rng, limit, may_be_late, offers=(), wish=None):
        self.op, self.signature, self.rng, self.limit = op, signature, rng, limit
        self.types = {slot.name: signature.type_of(slot, bindings) for slot in signature.inputs}
        self.output_types = [signature.type_of(slot, bindings) for slot in signature.outputs]
        self.given = {slot.name: [] for slot in signature.inputs}
        self.results = {}          # output number -> (scale, zero point)
        self.output_count = len(self.output_types)
        self.late = self.chance(0.15) and may_be_late
        self.offers, self.wish = offers, wish
        self._wishes = {"shape", "channels", "quantization"} if wish is not None else set()

    # -- numbers ---------------------------------------------------------------------------------------------------
    def int(self, low, high):
        """An integer in low..high."""
        return int(self.rng.integers(low, high + 1))

    def chance(self, share):
        return bool(self.rng.random() < share)

    def choice(self, *items):
        return items[self.int(0, len(items) - 1)]

    def size(self, most=None):
        """A dimension, small more often than not; at most `most` and the limit of the draft."""
        most = self.limit if most is None else min(most, self.limit)
        return self.int(1, most if self.chance(0.3) else min(most, 9))

    def _suits(self, what):
        """True, once, where this trait of the draft is to be the wish's."""
        if what not in self._wishes:
            return False
        self._wishes.discard(what)
        return self.chance(WISHED)

    def channels(self):
        """A number of channels; the edges of tiles more often than others."""
        if self._suits("channels") and self.wish.array.ndim > 1:
            return self.wish.array.shape[1 if self.chance(0.2) else -1]
        if self.limit > 30 and self.chance(0.1):
            return self.choice(47, 48, 64, 65, 96)
        edge = self.choice(1, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40)
        return min(edge, self.limit) if self.chance(0.5) else self.size()

    def shape(self, low=1, high=4):
        """Dimensions of a rank in low..high; at most a few thousand elements."""
        if self._suits("shape") and low <= self.wish.array.ndim <= high:
            return self.wish.array.shape
        rank, shape, room = self.int(low, high), [], 4000
        for _ in range(rank):
            shape.append(min(self.size(), max(room, 1)))
            room //= shape[-1]
        return tuple(int(d) for d in self.rng.permutation(shape))

    def real(self, low, high):
        return float(np.float16(self.rng.uniform(low, high)))

    # -- values ----------------------------------------------------------------------------------------------------
    def quantization(self, type_):
        """(scale, zero point) of a type; (0, 0) where it has none."""
        if type_ not in QUANTIZED_TYPES:
            return 0.0, 0
        if self._wishes and self.wish.type == type_ and self._suits("quantization"):
            return self.wish.scale, self.wish.zero_point
        low, high = QUANT_RANGE[type_]
        scale = float(np.float32(2.0 ** self.rng.uniform(-8, 0)))
        if type_ in SYMMETRIC:
            return scale, 0
        return scale, self.choice(low, high, (low + high + 1) // 2, self.int(low, high))

    def values(self, type_, shape, spread=1.0, low=None, high=None):
        """An array of a type; low, high: range of integers or floats, else normal floats and all codes."""
        dtype = DTYPES[type_]
        if type_ == T.TENSOR_BOOL8:
            return self.rng.integers(0, 2, shape).astype(dtype)
        if dtype.kind == "f":
            drawn = self.rng.normal(0, spread, shape) if low is None else self.rng.uniform(low, high, shape)
            return np.asarray(drawn).astype(dtype)
        if low is None:
            low, high = QUANT_RANGE.get(type_, (-100, 100))
        return self.rng.integers(low, high + 1, shape).astype(dtype)

    def put(self, name, array, scale=0.0, zero_point=0, channels=None, constant=None):
        """Give a tensor input. constant: by default all but the first tensor are constants in most drafts."""
        type_ = self.types[name]
        array = np.ascontiguousarray(array, DTYPES[type_]).reshape(np.shape(array))
        if constant is None:
            constant = name != self.signature.inputs[0].name and not (self.late and self.chance(0.7))
        made = Value(type_, array, float(np.float32(scale)), int(zero_point), channels, constant)
        self.given[name].append(made)
        return made

    def tensor(self, name, shape, quantization=None, constant=None, fits=None, **values):
        """Draw a tensor input of a shape, or take an offer; quantization: (scale, zero point) where it is not free;
        fits(shape): which other shapes do as well.
        """
        type_ = self.types[name]
        offer = None if constant else self._offer(type_, shape, quantization, fits, **values)
        if offer is not None:
            self.given[name].append(Value(type_, offer.array.copy(), offer.scale, offer.zero_point, constant=False,
                                          source=offer))
            return self.given[name][-1]
        scale, zero_point = self.quantization(type_) if quantization is None else quantization
        return self.put(name, self.values(type_, shape, **values), scale, zero_point, None, constant)

    def _offer(self, type_, shape, quantization, fits, spread=None, low=None, high=None):
        """An offer that can stand for such a tensor, or None. spread: of values, no rule; low, high: a rule."""
        def suits(offer):
            if offer.type != type_ or not (offer.array.shape == tuple(shape) or fits and fits(offer.array.shape)):
                return False
            if quantization is not None and (np.float32(quantization[0]), quantization[1]) != (
                    np.float32(offer.scale), offer.zero_point):
                return False
            return low is None or bool(np.all((offer.array >= low) & (offer.array <= high)))

        found = [offer for offer in self.offers if suits(offer)]
        if not found or not self.chance(TAKEN):
            return None
        return self.wish if self.wish in found else self.choice(*found)

    def sprinkle(self, values):
        """Now and then, put NaN, infinities, zeros and extremes among the floats of these inputs."""
        if self.chance(0.25):
            for value in values:
                if value.source is None and value.array.dtype.kind == "f":
                    odd = np.array(ODD_FLOATS, value.array.dtype)
                    places = self.rng.random(value.array.shape) < 0.1
                    value.array[places] = self.rng.choice(odd, np.count_nonzero(places))

    def scalar(self, name, value, constant=None):
        """Give a scalar input, where the form has it; returns the value."""
        if name in self.types:
            type_ = self.types[name]
            if constant is None:
                constant = not (self.late and self.chance(0.2))
            self.given[name].append(Value(type_, np.array(value, DTYPES[type_]), constant=constant))
        return value

    def has(self, name):
        """True when the form has such an input."""
        return name in self.types

    def layout(self):
        """Draw the layout flag, where there is one: True for NCHW."""
        return self.has("layout") and self.scalar("layout", self.chance(0.4))

    def image(self, name, shape, nchw, least=None, **more):
        """Draw an image of NHWC shape in the layout that holds. least: (height, width) from which on an offer of any
        height, width and number of images does.
        """
        n, h, w, c = shape
        places = (0, 2, 3, 1) if nchw else (0, 1, 2, 3)

        def fits(dims):
            if len(dims) != 4:
                return False
            _, height, width, channels = (dims[place] for place in places)
            return channels == c and height >= least[0] and width >= least[1]

        return self.tensor(name, (n, c, h, w) if nchw else (n, h, w, c), fits=None if least is None else fits, **more)

    def activation(self):
        """Draw a fused activation; integers have none."""
        none = self.types[self.signature.inputs[0].name] == T.TENSOR_INT32
        return self.scalar("activation", 0 if none else self.int(0, 3))

    def result(self, place=0, scale=None, zero_point=None):
        """Fix the quantization of an output."""
        drawn = self.quantization(self.output_types[place])
        self.results[place] = (drawn[0] if scale is None else scale, drawn[1] if zero_point is None else zero_point)

    def result_at_least(self, scale):
        """Output 0 has a scale of this or more, up to eight times."""
        if self.output_types[0] in QUANTIZED_TYPES:
            self.result(0, float(np.float32(scale * 2.0 ** self.rng.uniform(0.01, 3))))

    # -- model -----------------------------------------------------------------------------------------------------
    def _quantization_of_output(self, place):
        if place in self.results:
            return self.results[place]
        nth = min(place, len(self.output_types) - 1)
        type_ = self.output_types[nth]
        rule = self.op.quant[nth] if isinstance(self.op.quant, tuple) else self.op.quant
        if isinstance(rule, dict) and type_ in rule:
            return rule[type_]
        if rule == "same" and type_ in QUANTIZED_TYPES:
            first = next(v for values in self.given.values() for v in values if v.type == type_)
            return first.scale, first.zero_point
        return self.quantization(type_)

    def operands(self):
        """The Value of each input in order. What a maker has changed of an offer is no longer that offer."""
        found = []
        for slot in self.signature.inputs:
            found += self.given[slot.name] or [Value(self.types[slot.name], None)]
        for value in found:
            if value.source is not None and value.array.tobytes() != value.source.array.tobytes():
                value.source = None
        return found

    def outputs(self):
        """(type, scale, zero point) of each output."""
        types = [self.output_types[min(place, len(self.output_types) - 1)] for place in range(self.output_count)]
        return [(type_, *self._quantization_of_output(place)) for place, type_ in enumerate(types)]

    def build(self, text):
        """The Instance."""
        b, arrays, handles = ModelBuilder(self.op.name), [], []
        for value in self.operands():
            handles.append(add_operand(b, value, self.late and not value.channels and self.chance(0.3)))
            if value.array is not None and not value.constant:
                arrays.append(value.array)
        outputs = [b.output(type_, (), scale, zero_point) for type_, scale, zero_point in self.outputs()]
        if self.chance(0.1):
            b.relaxed()
        return Instance(b.operation(self.op.type, handles, outputs).build(), arrays, text)


def add_operand(b, value, open_dims):
    """Add a Value to a ModelBuilder, as an input unless it is a constant; returns its handle."""
    if value.array is None:
        return b.omitted(value.type, *((1.0, 0) if value.type in QUANTIZED_TYPES else ()))
    quant = (value.scale, value.zero_point, value.channels)
    if not value.constant:
        shape = value.array.shape
        return b.input(value.type, (0,) * len(shape) if open_dims else shape, *quant)
    if value.type in SCALAR_TYPES:
        return b.scalar(value.array[()], value.type)
    return b.constant(value.array, value.type, *quant)


def draw(op, form, nth, seed, limit, may_be_late=True):
    """The Instance of a form (signature number) and type set of an operation.

    may_be_late: weights, parameters and dimensions that are known only at execution are drawn too.
    """
    signature = op.signatures[form]
    # Equal seeds give each type set of each operation an instance of its own.
    rng = np.random.default_rng((seed, limit, crc32(f"{op.name} {form} {nth}".encode())))
    draft = Draft(op, signature, signature.sets[nth][1], rng, limit, may_be_late)
    load_makers()[op.name](draft)
    return draft.build(f"{op.name} form {form} set {nth} seed {seed} limit {limit}")


def divisors(number):
    """All divisors, ascending."""
    return [d for d in takewhile(lambda d: d <= number, count(1)) if number % d == 0]
