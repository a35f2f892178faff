"""What the files of nnfast's own operations share: signatures over many types."""

from itertools import product
from math import isfinite

from ..model.quant import quantize_multiplier
from ..model.types import OperandType
from .base import ABBREVIATIONS, OpDef, Signature
from .own import BY_NAME

FLOATS = ("F32", "F16", "F64", "f32", "f16", "f64")
INTEGERS = ("I32", "I64", "I16", "I8", "U8", "U16", "U32", "U64", "i32", "i64", "i16", "i8", "u8", "u16", "u32", "u64")
QUANTIZED = ("Q8", "Q8S", "Q16S")
BOOLS = ("B8", "bool")
COMPLEX = ("C64", "C128", "c64", "c128")
INDEXES = ("I32", "I64", "i32", "i64", "I16", "i16")
NUMBERS = FLOATS + INTEGERS
BOUNDS = {0: (None, None), 1: (0, None), 2: (-1, 1), 3: (0, 6)}
"""Fused activation -> its bounds."""
MAX_RANK = 32
ANY = NUMBERS + QUANTIZED + BOOLS + COMPLEX + ("PC", "Q8SY")


class Choices(Signature):
    """A form whose variables take each of their types, whatever the others take; for more sets than one lists."""

    __slots__ = ("choices",)

    def __init__(self, text, choices):
        super().__init__(text, ())
        self.choices = {name: tuple(ABBREVIATIONS[word] for word in choices[name]) for name in self.variables}

    @property
    def sets(self):
        return (("1.2", dict(zip(self.choices, types))) for types in product(*self.choices.values()))

    @sets.setter
    def sets(self, rows):
        """Nothing to keep: the base class has no rows."""

    def start(self):
        return {}  # the variables that have a type: the product of the others' need not be listed

    def types(self, left, slot):
        if slot.token in self.choices:
            return {left[slot.token]} if slot.token in left and not slot.variadic else set(self.choices[slot.token])
        return {ABBREVIATIONS[slot.token]}

    def narrow(self, left, slot, actual):
        return {**left, slot.token: actual}

    def match(self, inputs, outputs):
        slots_in, slots_out = self.expand(len(inputs), self.inputs), self.expand(len(outputs), self.outputs)
        if slots_in is None or slots_out is None:
            return None
        bindings = {}
        for slot, kind in zip((*slots_in, *slots_out), (*inputs, *outputs)):
            allowed = self.choices.get(slot.token, (ABBREVIATIONS.get(slot.token),))
            if kind not in allowed or not slot.variadic and bindings.setdefault(slot.token, kind) != kind:
                return None
        return "1.2"


def own(name, forms, compute, infer=None, validate=None, **options):
    """OpDef of an operation of nnfast's own.

    forms: {signature: {variable: short names of types}}. A scalar stands for a tensor of rank 0, so that operands that
    go together need variables of their own, and `validate` to say what they share (same_dtype); a variadic operand
    takes any mixture. infer: None where only the data give the shapes of the outputs. options: as OpDef.
    """
    signatures = tuple(Choices(text, choices) for text, choices in forms.items())
    return OpDef(BY_NAME[name], signatures, infer or _unknown, compute, validate, data_dependent=infer is None,
                 zero_sized="any", **options)


def _unknown(node):
    return [t.shape for t in node.outputs]


def dimensions(node, name):
    """Sizes that a tensor's values give, as a tuple; numpy broadcasts up to MAX_RANK of them."""
    dims = node.numbers(name)
    if min(dims, default=0) < 0 or len(dims) > MAX_RANK:
        node.fail(name, f"is {dims}, must hold at most {MAX_RANK} sizes, none negative")
    return tuple(dims)


def image_shape(node):
    """(batch, height, width, channels) of the input of an operation with a layout flag, whose images are TFLite's."""
    node.check_rank("input", 4)
    if node.layout_nchw:
        node.fail("layout", "is true, must be false: the channels come last")
    return node["input"].shape


def ratio_multiplier(node, real):
    """(multiplier, exponent) of a ratio of scales; refused where the arithmetic that formed it left its range."""
    if not isfinite(real):
        scales = ", ".join(f"{t.scale:.9g}" for t in (*node.inputs, *node.outputs) if t.scale)
        node.fail(None, f"scales {scales} give a multiplier of {real:.9g}, must be finite")
    return quantize_multiplier(real)


def same_shape(node):
    """infer: every output as the first input."""
    return [node.inputs[0].shape] * len(node.outputs)


def same_dtype(*names):
    """validate: these inputs and all outputs hold numbers of the same dtype."""
    def validate(node):
        dtypes = {t.dtype for name in names for t in node.group(name) if t.present} | {t.dtype for t in node.outputs}
        if len(dtypes) != 1:
            node.fail(None, f"takes tensors of {', '.join(sorted(map(str, dtypes)))}, must be of one dtype")
    return validate


def same_values(node):
    """validate: the first output holds numbers of the first input's dtype; further outputs are places."""
    source, values = node.inputs[0].dtype, node.outputs[0].dtype
    if source != values:
        node.fail(None, f"takes {source} and gives {values}, must be of one dtype")


def is_same_kind(*names):
    """validate: as same_dtype, and the 8-bit and 16-bit tensors among them share scale and zero point."""
    dtypes = same_dtype(*names)

    def validate(node):
        dtypes(node)
        tensors = [t for name in names for t in node.group(name) if t.present] + node.outputs
        if len({(t.scale, t.zero_point) for t in tensors}) != 1:
            node.fail(None, "takes tensors of different scales and zero points, must be of one quantization")
    return validate


def is_boolean(kind):
    """Whether a type holds booleans."""
    return kind in (OperandType.TENSOR_BOOL8, OperandType.BOOL)
