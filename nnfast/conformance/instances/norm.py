"""Instances of normalisations over an axis."""

from .draft import makes


def axis_of(d, rank):
    """Draw the axis, where the form has one."""
    axis = d.int(0, rank - 1)
    d.scalar("axis", axis - rank if d.chance(0.4) else axis)


@makes("SOFTMAX", "LOG_SOFTMAX")
def softmax(d):
    shape = d.shape() if d.has("axis") else d.shape(2, 4)
    d.tensor("input", shape, spread=2.0)
    d.scalar("beta", d.choice(1.0, d.real(0.1, 3.0)))
    axis_of(d, len(shape))


@makes("L2_NORMALIZATION", odd=["input"])
def l2(d):
    shape = d.shape()
    d.tensor("input", shape)
    axis_of(d, len(shape))


@makes("LOCAL_RESPONSE_NORMALIZATION", odd=["input"])
def local_response(d):
    shape = d.shape() if d.has("axis") else d.shape(4, 4)
    d.tensor("input", shape)
    d.scalar("radius", d.int(0, 12))
    d.scalar("bias", d.real(0.5, 2.0))
    d.scalar("alpha", d.real(0.0, 1.0))
    d.scalar("beta", d.real(0.1, 1.5))
    axis_of(d, len(shape))


@makes("INSTANCE_NORMALIZATION", odd=["input"])
def instance(d):
    d.image("input", (d.int(1, 2), d.size(9), d.size(9), d.channels()), d.layout(), (1, 1))
    d.scalar("gamma", d.real(0.2, 2.0))
    d.scalar("beta", d.real(-2.0, 2.0))
    d.scalar("epsilon", d.choice(1e-3, 1e-2))
