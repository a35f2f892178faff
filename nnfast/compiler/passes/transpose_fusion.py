"""Lets products of matrices read their operands, and write their result, where a TRANSPOSE would copy them from and to.

Attention has its heads side by side in each row, and turns them into one matrix each for BATCH_MATMUL, and back. The
products take rows that lie apart as well as others.
"""

from ..._native.conv import Conv2dF32, Conv2dQ8, PackF32, PackQ8
from ..._native.movement import StridedCopy
from ...ops.conv2d import Placement
from ...ops.window import POINT
from ...record import replace

WHY = "products of matrices read and write rows that lie apart, in place of copies of them"

_PAGE = 4096
"""Rows that lie apart by multiples of so many bytes fall on the same lines of the level 1 cache: kernels read many."""


def refine(lowering):
    """Leave out transposes that a product of matrices can do on the way, if nothing else reads what they write."""
    copies = [place for place, step in enumerate(lowering.items) if _is_transpose(step)]
    if not copies:
        return
    others, made, spare = _others(lowering), {}, {}
    for place in copies:
        copy = made.get(place, lowering.items[place])
        for slot, join in ((copy.slots[1], _reading), (copy.slots[0], _writing)):
            other = others(place, slot)
            if other is not None:
                step = join(copy, made.get(other, lowering.items[other]), lowering.root)
                if step is not None:
                    made[other] = step
                    spare[place] = other
                    break
    if not spare:
        return
    items, places = [], []
    for place, step in enumerate(lowering.items):
        places.append(len(items))
        if place not in spare:
            items.append(step)
    lowering.join(items, [*places, len(items)], __name__, spare)
    for place, step in made.items():
        if place not in spare:
            lowering.put(places[place], step, __name__)


def _others(lowering):
    """function(place, slot) -> the place of the only other step that uses the whole memory of a slot, or None."""
    uses, bound = {}, {lowering.root(slot) for slot in lowering.bound}
    for place, item in enumerate(lowering.items):
        for slot in item.slots:
            if slot is not None:
                uses.setdefault(lowering.root(slot), set()).add(place)

    def other(place, slot):
        root = lowering.root(slot)
        found = uses[root] - {place}
        return found.pop() if len(found) == 1 and root not in bound and root not in lowering.in_pieces else None

    return other


def _is_transpose(step):
    """Whether a step copies a whole tensor in another order."""
    if type(step) is not StridedCopy or step.made_with[1] or len(step.made_with[0]) != 5:
        return False
    _, shape, from_, to, item = step.made_with[0]
    return 0 not in shape and tuple(to) == _dense(shape, item) and _order(shape, from_, item) is not None


def _dense(shape, item):
    """Strides of a dense tensor."""
    strides = []
    for size in reversed(shape):
        strides.append(item)
        item *= size
    return tuple(strides[::-1])


def _order(shape, strides, item):
    """Axes of a view from the outermost in memory to the innermost, or None if it is not a whole dense tensor."""
    order = sorted((axis for axis, size in enumerate(shape) if size != 1), key=lambda axis: -strides[axis])
    return order if tuple(strides[axis] for axis in order) == _dense([shape[axis] for axis in order], item) else None


def regrouped(dims, sizes):
    """Strides of a view in another shape of as many elements, or None where that needs a copy.

    dims: (size, stride) of each dimension as it is. The stride of a size of 1 is 0.
    """
    left, strides = [pair for pair in dims if pair[0] != 1], []
    for wanted in reversed(sizes):
        stride, have = 0, 1
        while have < wanted:
            size, step = left.pop()
            stride = step if have == 1 else stride
            part = min(size, wanted // have)
            if step != stride * have or wanted % (have * part) or size % part:
                return None
            if part < size:
                left.append((size // part, step * part))
            have *= part
        strides.append(stride)
    return strides[::-1]


# -- the step before or after a transpose, without it; None if it cannot do without ------------------------------------
def _reading(copy, step, root):
    """A step that reads what the transpose writes."""
    (source, result), shape, from_, _, item = copy.made_with[0]
    if [root(slot) == root(result) for slot in step.slots].count(True) != 1 or root(step.slots[0]) != root(result):
        return None
    dims, slots = list(zip(shape, from_)), (source, *step.slots[1:])
    if type(step) in (Conv2dF32, Conv2dQ8):
        return _placed(step, slots, lambda place, rows, depth, _: _input(
            place, regrouped(dims, (place.groups, rows, depth)), item))
    if type(step) in (PackF32, PackQ8):
        return _packed(step, slots, dims, item)
    return _copied(step, slots, dims, item) if _is_transpose(step) else None


def _writing(copy, step, root):
    """A product that writes what the transpose reads."""
    (source, result), shape, from_, to, item = copy.made_with[0]
    if type(step) not in (Conv2dF32, Conv2dQ8) or root(step.slots[-1]) != root(source):
        return None
    dims = [(shape[axis], to[axis]) for axis in _order(shape, from_, item)]
    return _placed(step, (*step.slots[:-1], result), lambda place, rows, _, columns: _output(
        place, regrouped(dims, (place.groups, rows, columns)), item))


def _placed(step, slots, moved):
    """A product of matrices with other slots and the Placement moved(its own, rows, depth, columns)."""
    (_, window, rows, depth, columns, *rest), named = step.made_with
    at = next((k for k, value in enumerate(rest) if type(value) is Placement), None)
    if window is not POINT or at is None or named:
        return None
    rest[at] = moved(rest[at], rows, depth, columns)
    return None if rest[at] is None else type(step)(slots, window, rows, depth, columns, *rest)


def _input(place, strides, item):
    if strides is None or strides[2] not in (0, item) or strides[1] and not strides[1] % _PAGE:
        return None
    return replace(place, pixel=strides[1] // item, group=strides[0] // item)


def _output(place, strides, item):
    if strides is None or strides[2] not in (0, item):
        return None
    pixel = strides[1] // item
    return replace(place, out_pixel=pixel, out_row=pixel, out_image=pixel, out_group=strides[0] // item)


def _packed(step, slots, dims, item):
    (_, columns, depth, groups, *rest), named = step.made_with
    is_float = type(step) is PackF32
    if named or len(rest) != (1 if is_float else 5):
        return None
    by_rows = is_float and rest[0]
    strides = regrouped(dims, (groups, depth, columns) if by_rows else (groups, columns, depth))
    if strides is None:
        return None
    group, row, each = (stride // item for stride in strides)
    if is_float and each > 1 and row <= 1:
        by_rows, row, each = not by_rows, each, row
    if each > 1:
        return None
    return PackF32(slots, columns, depth, groups, by_rows, (row, group)) if is_float else \
        PackQ8(slots, columns, depth, groups, *rest, place=(row, group))


def _copied(step, slots, dims, item):
    _, shape, from_, to, other = step.made_with[0]
    order = _order(shape, from_, item) if other == item else None
    strides = None if order is None else regrouped(dims, [shape[axis] for axis in order])
    if strides is None:
        return None
    through = dict(zip(order, strides))
    return StridedCopy(slots, shape, [through.get(axis, 0) for axis in range(len(shape))], to, item)
