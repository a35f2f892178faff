"""Random graphs of many operations, with inputs and the outputs that the definitions compute.

Each operation is a draft of the instances (nnfast/conformance/instances), which is offered what is there already: what
earlier operations wrote, and inputs of the graph. It is computed as it is added, so that what an operation asks of the
values it reads (no division by zero, indexes within bounds, probabilities) holds by construction. The same seed, size
and operations give the same graph.
"""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ...compiler.check import check_model
from ...errors import Error, InvalidArgument
from ...model.builder import ModelBuilder
from ...model.types import SCALAR_TYPES, VERSIONS, OperationType
from ..instances import Draft, Offer, add_operand, load_makers, table
from ..reference import evaluate
from ..vectors import Case


@dataclass(frozen=True, slots=True)
class Size:
    """operations: of a graph; limit: largest dimension that an operation draws."""

    operations: int
    limit: int


SIZES = {"single": Size(1, 40), "small": Size(5, 40), "large": Size(40, 10)}
"""Sizes of graphs by name."""

MOST_ELEMENTS, MOST_OFFERED, MOST_RANK = 20_000, 4000, 5
"""Elements that an operation may write, and elements and rank of values that later ones are offered."""

FOLLOWED = 0.85
"""Share of operations that are chosen to fit a value which is there."""

RESULTS = 0.9
"""Share of wishes that are what an operation wrote."""

ATTEMPTS = 6
"""Drafts of an operation, at most, until one takes an offer."""

TAMEST = {np.dtype(np.float32): 1e4, np.dtype(np.float16): 1e2}
"""Floats beyond this, infinities and NaN are rarely offered: they soon fill all that follows."""

WILD, LATE, OPEN, SHOWN, RELAXED = 0.1, 0.15, 0.3, 0.1, 0.05
"""Shares: of wild values that are offered; of graphs with open dimensions, and of their inputs that have some; of
values that are outputs of the graph though an operation reads them; of relaxed graphs.
"""

MOST_TRIED = 200
"""Drafts in a row that may be refused before a choice of operations counts as impossible."""


@dataclass(slots=True, eq=False)
class Added:
    """An operation of the graph: its Values, and what it wrote as Offers."""

    type: int
    operands: list
    outputs: list = field(default_factory=list)


@lru_cache(8)
def rows_of(names=None, version=VERSIONS[-1]):
    """{operation name: [(OpDef, form, type set, type of its first tensor)]}; names: only of these; version: only what
    this one has.
    """
    found = {}
    for _, op, form, nth in table():
        if names is not None and op.name not in names:
            continue
        signature = op.signatures[form]
        if VERSIONS.index(signature.sets[nth][0]) > VERSIONS.index(version):
            continue
        types = [signature.type_of(slot, signature.sets[nth][1]) for slot in signature.inputs]
        first = next((type_ for type_ in types if type_ not in SCALAR_TYPES), None)
        found.setdefault(op.name, []).append((op, form, nth, first))
    if not found:
        raise InvalidArgument(f"random graphs: HAL {version} has none of the operations that can be drawn")
    return found


def draw_case(seed, size="small", names=None, version=VERSIONS[-1]):
    """A Case: a graph, its inputs and its right outputs. size: of SIZES; names: operations that it may have; version:
    of the HAL whose forms and types it may have.

    Raises InvalidArgument where no graph of these operations comes about.
    """
    rng = np.random.default_rng((seed, *size.encode()))
    return draw_by(rng, f"randgraph_{size}_{seed}", size, names, version)


def draw_by(rng, name, size, names, version):
    """As draw_case, with a numpy Generator that makes the decisions, and a name for the Case."""
    rows = rows_of(None if names is None else frozenset(names), version)
    while True:
        graph = _Graph(rng, SIZES[size].limit, version, rows)
        graph.grow(SIZES[size].operations)
        if graph.inputs:
            return graph.case(name)


class _Graph:
    """A graph while it grows. inputs: {Value that is an input of the graph: its Offer}; offers: those of inputs and
    results that operations may read; results: the latter alone.
    """

    def __init__(self, rng, limit, version, rows):
        self.rng, self.limit, self.version, self.rows = rng, limit, version, rows
        self.operations, self.inputs, self.offers, self.results = [], {}, [], []

    def grow(self, count):
        refused = 0
        while len(self.operations) < count:
            refused = 0 if self.add() else refused + 1
            if refused == MOST_TRIED:
                raise InvalidArgument(f"random graphs: {MOST_TRIED} drafts of {', '.join(self.rows)} were refused")

    def _chance(self, share):
        return bool(self.rng.random() < share)

    def _pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def add(self):
        """Draw one more operation; False where its draft breaks a rule or is too large."""
        wish = None
        if self.offers and self._chance(FOLLOWED):
            wish = self._pick(self.results if self.results and self._chance(RESULTS) else self.offers)
        op, form, nth, _ = self._row(wish)
        draft = self._draft(op, form, nth, wish)
        try:
            instance = draft.build(op.name)
            check_model(instance.model, self.version)
            values = evaluate(instance.model, instance.arrays)
        except Error:
            return False
        main = instance.model.main
        arrays = [values[place] for place in main.outputs]
        if sum(array.size for array in arrays) > MOST_ELEMENTS:
            return False
        added = Added(op.type, draft.operands())
        for place, array in zip(main.outputs, arrays):
            operand = main.operands[place]
            added.outputs.append(Offer(operand.type, array, operand.scale, operand.zero_point))
        self.operations.append(added)
        for value in added.operands:
            if value.array is not None and not value.constant and value.source is None:
                self.inputs[value] = Offer(value.type, value.array, value.scale, value.zero_point)
                if value.channels is None and self._is_offered(self.inputs[value]):
                    self.offers.append(self.inputs[value])
        results = [made for made in added.outputs if self._is_offered(made)]
        self.results += results
        self.offers += results
        return True

    def _draft(self, op, form, nth, wish):
        """A draft; where there is a wish, one that takes some offer if a few attempts give one."""
        signature = op.signatures[form]
        for _ in range(ATTEMPTS if wish is not None else 1):
            draft = Draft(op, signature, signature.sets[nth][1], self.rng, self.limit, True, self.offers, wish)
            load_makers()[op.name](draft)
            if any(value.source is not None for value in draft.operands()):
                break
        return draft

    def _row(self, wish):
        """A row of a random operation, where there is one on whose type the wish is."""
        choices = {}
        if wish is not None:
            choices = {name: fit for name, rows in self.rows.items() if (fit := [r for r in rows if r[3] == wish.type])}
        choices = choices or self.rows
        return self._pick(choices[self._pick(list(choices))])

    def _is_offered(self, made):
        array = made.array
        if made.type in SCALAR_TYPES or not 0 < array.size <= MOST_OFFERED or not 0 < array.ndim <= MOST_RANK:
            return False
        tamest = TAMEST.get(array.dtype)
        return tamest is None or bool(np.all(np.abs(array) <= tamest)) or self._chance(WILD)

    def case(self, name):
        """The finished graph as a Case."""
        b, handles, arrays, open_ = ModelBuilder(name), {}, [], set()
        may_be_open = VERSIONS.index(self.version) >= VERSIONS.index("1.2")  # older requests tell no dimensions back
        late, declared = self._chance(LATE), self._pick(("shapes",) * 6 + ("ranks", "nothing") * may_be_open)
        for added in self.operations:
            inputs = []
            for value in added.operands:
                if value.source is not None:
                    inputs.append(handles[value.source])
                    continue
                is_open = late and not value.constant and not value.channels and self._chance(OPEN)
                inputs.append(add_operand(b, value, is_open))
                if is_open:
                    open_.add(inputs[-1])
                if value in self.inputs:
                    handles[self.inputs[value]] = inputs[-1]
                    arrays.append(value.array)
            outputs = []
            for made in added.outputs:
                dims = {"shapes": made.array.shape, "ranks": (0,) * made.array.ndim, "nothing": ()}[declared]
                if added.type == OperationType.CAST and inputs[0] in open_:
                    dims = ()  # [NN 15.1]
                outputs.append(b.operand(made.type, dims, made.scale, made.zero_point))
                if 0 in dims or dims != made.array.shape:
                    open_.add(outputs[-1])
                handles[made] = outputs[-1]
            b.operation(added.type, inputs, outputs)
        read = {value.source for added in self.operations for value in added.operands}
        results = [made for added in self.operations for made in added.outputs
                   if made not in read or self._chance(SHOWN)]
        b.outputs(*(handles[made] for made in results))
        b.relaxed(self._chance(RELAXED))
        return Case(name, b.build(), tuple(arrays), tuple(made.array for made in results), (False,) * len(results))
