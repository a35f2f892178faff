"""TFLite's LSH_PROJECTION of bytes of any type, with weights or without them, whatever becomes of the bits."""

from . import lsh
from .tfl import ANY, own


def infer(node):
    """One value per hash for the sparse type, one per bit for the dense one."""
    lsh.validate(node)
    kind = node.check_in("type", (lsh.DENSE, lsh.SPARSE))
    if not node["input"].shape[0]:
        node.fail("input", f"shape is {list(node['input'].shape)}, must have rows")
    rows, weights = node["input"].shape[0], node["weight"].shape
    if node.has("weight") and weights != (rows,):
        node.fail("weight", f"shape is {list(weights)}, must be [{rows}], one for each row of the input")
    count, bits = node["hash"].shape
    return [(count * bits if kind == lsh.DENSE else count,)]


TFL_LSH_PROJECTION = own(
    "TFL_LSH_PROJECTION",
    {"hash:H input:T weight?:W type:i32 -> output:I": {"H": ("F32",), "T": ANY, "W": ("F32",), "I": ("I32",)}},
    lsh.compute, infer, lsh.validate)
