"""What the bidirectional sequence operations share [NN 15.42, 15.43].

The backward direction walks the sequence from its end; its output at a step is stored at that step's place. An
auxiliary input links layers: with auxiliary weights both directions read it beside the input (cross-linking), without
them it is the backward direction's only input (parallel linking).
"""

from math import prod

import numpy as np

from .._native.movement import Concatenate
from .._native.recurrent import Pair
from ..record import replace
from . import recurrent
from .base import forms

PREFIXES = ("fw_", "bw_")


class Direction:
    """One direction of a bidirectional operation: its node, where input fw_x (bw_x) is called x.

    Inputs that both directions share keep their names, so that rules and cells of the one-way operations run on it.
    """

    def __init__(self, node, prefix):
        self._node = node
        self.tensors = {}  # name -> tensor that replaces this input
        self._own = {slot.name.removeprefix(prefix): slot.name for slot in node.signature.inputs
                     if slot.name.startswith(prefix)}

    def _name(self, name):
        return self._own.get(name, name)

    def __getitem__(self, name):
        return self.tensors[name] if name in self.tensors else self._node[self._name(name)]

    def has(self, name):
        """As Node.has."""
        return self._node.has(self._name(name))

    def place(self, name):
        """As Node.place."""
        return self._node.place(self._name(name))

    @property
    def relaxed(self):
        """As of a node."""
        return self._node.relaxed

    def go_on(self):
        """As Node.go_on."""
        self._node.go_on()

    def scalar(self, name):
        """As Node.scalar."""
        return self._node.scalar(self._name(name))

    def fail(self, name, text):
        """As Node.fail."""
        self._node.fail(self._name(name), text)

    def check_rank(self, name, low, high=None):
        """As Node.check_rank."""
        self._node.check_rank(self._name(name), low, high)


def directions(node):
    """The forward and the backward Direction of an operation."""
    return tuple(Direction(node, prefix) for prefix in PREFIXES)


def prefixed(slots, prefix):
    """Signature text with a prefix before every operand name."""
    return " ".join(prefix + slot for slot in slots.split())


def signatures(inputs, states):
    """The four forms: outputs apart or merged, without or with the states of each direction (text as `inputs`)."""
    states = " ".join(prefixed(states, prefix) for prefix in PREFIXES)
    return forms(
        (f"{inputs} -> fw_output:T bw_output:T", "1.2"),
        (f"{inputs} -> fw_output:T bw_output:T {states}", "1.3"),
        (f"{inputs} -> output:T", "1.2"),
        (f"{inputs} -> output:T {states}", "1.3"),
        sets=("1.2: F32", "1.2: F16"),
    )


def check_linking(node, key, names):
    """Auxiliary weights `names` are all present or all omitted, as `key` is; they need the auxiliary input."""
    crossed = node.has(key)
    why = f"where {key} is {'present' if crossed else 'omitted'}"
    for name in names:
        recurrent.must(node, name, crossed, why)
    if crossed:
        recurrent.must(node, "aux_input", True, why)


def auxiliary_size(node, time, batch):
    """Size of the auxiliary input after a check of its other dimensions; None where it is omitted."""
    if not node.has("aux_input"):
        return None
    node.check_rank("aux_input", 3)
    size = node["aux_input"].shape[2]
    recurrent.check_shape(node, "aux_input", recurrent.sequence_output(node, time, batch, size))
    return size


def output_shapes(node, time, batch, units, states):
    """Shapes of all outputs from the (forward, backward) output sizes and the shapes of the states.

    The number of outputs must suit merge_outputs.
    """
    merged = node.scalar("merge_outputs")
    apart = any(slot.name == "bw_output" for slot in node.signature.outputs)
    if merged == apart:
        count = len(node.outputs)
        node.fail("merge_outputs", f"is {merged}, must be {not merged} with {count} output{'s' * (count > 1)}")
    sizes = (sum(units),) if merged else units
    shapes = [recurrent.sequence_output(node, time, batch, size) for size in sizes]
    return (shapes + states)[:len(node.outputs)]


def sequences(node, inputs, crossed):
    """(forward, backward) input sequences [time, b, size] as float64, each in the order its direction walks.

    With cross-linking the auxiliary values stand behind the input's, as weights of [units, size + aux] want them.
    """
    forward = backward = recurrent.time_first(node, inputs[0]).astype(np.float64)
    if node.has("aux_input"):
        auxiliary = recurrent.time_first(node, inputs[node.place("aux_input")]).astype(np.float64)
        if crossed:
            forward = backward = np.concatenate([forward, auxiliary], axis=2)
        else:
            backward = auxiliary
    return forward, backward[::-1]


def outputs(node, forward, backward, states):
    """All output arrays from the output sequences, each in the order its direction walked, and the last states."""
    both = [recurrent.time_first(node, sequence) for sequence in (forward, backward[::-1])]
    if node.scalar("merge_outputs"):
        both = [np.concatenate(both, axis=2)]
    return [np.ascontiguousarray(array, target.dtype) for array, target in zip([*both, *states], node.outputs)]


# -- native --------------------------------------------------------------------------------------------------------
def beside(b, first, second):
    """Concatenation [..., n + m] of tensors [..., n] and [..., m]: a constant if both are, else by a copying step."""
    shape = (*first.shape[:-1], first.shape[-1] + second.shape[-1])
    if first.value is not None and second.value is not None:
        return b.stand_in(first, shape=shape, value=np.concatenate([first.value, second.value], axis=-1))
    made = b.stand_in(first, shape=shape, value=None)
    sizes = [tensor.shape[-1] * tensor.dtype.itemsize for tensor in (first, second)]
    b.emit(Concatenate([b.slot(tensor) for tensor in (first, second, made)], prod(shape[:-1]), sizes, [None, None]))
    return made


def lower(node, b, units, pairs, steps, states):
    """Emit the steps of both directions, concurrently if each is a single step; returns None, or why not.

    units: (forward, backward) output size; pairs: (input weights, auxiliary weights) by name, which cross-linking
    puts side by side; steps(way, b, path, source, output, *states out): those of a direction; states: outputs of each.
    """
    ways, crossed = directions(node), node.has("aux_input") and node.has(f"fw_{pairs[-1][1]}")
    sources = [node["input"]] * 2
    if crossed:
        sources = [beside(b, node["input"], node["aux_input"])] * 2
        for way in ways:
            way.tensors = {name: beside(b, way[name], way[other]) for name, other in pairs}
    elif node.has("aux_input"):
        sources[1] = node["aux_input"]
    merged = node.scalar("merge_outputs")
    forward = recurrent.sequence_path(node)
    backward = replace(forward, backward=True)
    if merged:
        forward, backward = replace(forward, row=sum(units)), replace(backward, row=sum(units), start=units[0])
    rest = node.outputs[1 if merged else 2:] or [None] * (2 * states)
    made = []
    for place, (way, path, source) in enumerate(zip(ways, (forward, backward), sources)):
        output = node.outputs[0 if merged else place]
        made.append(steps(way, b, path, source, output, *rest[place * states:][:states]))
        if isinstance(made[-1], str):
            return made[-1]
    alone = len(made[0]) == len(made[1]) == 1
    return recurrent.emit(b, [Pair(*made[0], *made[1])] if alone else made[0] + made[1])
