"""Values of tensors beside LiteRT's: how far apart, where first, and whether that is within the bound."""

from dataclasses import dataclass

import numpy as np

BOUND = 2e-5
"""Floats may be this far apart, as a share of the largest of LiteRT's values."""

SAME, WITHIN, CARRIED, DIFFERS, SKIPPED = "same", "within", "carried", "DIFFERS", "-"


@dataclass(frozen=True, slots=True)
class Difference:
    """Two values of a tensor.

    verdict: SAME (equal, or NaN in both), WITHIN (floats within the bound), CARRIED (differs, but not where the inputs
    are LiteRT's), DIFFERS, or SKIPPED (not compared); values: how many there are; differing: how many are not the same;
    largest: difference of integers in steps, of floats as a share of LiteRT's largest value, None where that is no
    number; where: index of the first one that differs; text: what differs, or why nothing was compared; "" where
    nothing differs.
    """

    verdict: str
    values: int = 0
    differing: int = 0
    largest: float | None = 0.0
    where: tuple = ()
    text: str = ""

    @property
    def is_wrong(self):
        return self.verdict == DIFFERS


def compare(ours, theirs, bound=BOUND):
    """The Difference of an array of nnfast's from LiteRT's; integers must be equal, floats within the bound."""
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return Difference(DIFFERS, theirs.size, theirs.size, None, (),
                          f"is {ours.dtype}{list(ours.shape)}, LiteRT's {theirs.dtype}{list(theirs.shape)}")
    apart = ~((ours == theirs) | ((ours != ours) & (theirs != theirs)))  # NaN is what does not equal itself
    count = int(np.count_nonzero(apart))
    if not count:
        return Difference(SAME, theirs.size)
    largest, verdict = distance(ours, theirs), DIFFERS
    if theirs.dtype.kind in "fc" and largest is not None and largest <= bound:
        verdict = WITHIN
    place = _first(ours, theirs, apart, bound)
    where = f" at {list(place)}" if place else ""
    size = "other infinities or NaN" if largest is None else f"by up to {largest:.2g} of the largest" \
        if theirs.dtype.kind in "fc" else f"by up to {largest:.0f}"
    return Difference(verdict, theirs.size, count, largest, place,
                      f"{count:,} of {theirs.size:,} values differ, {size}; first{where}: {ours[place]!s}, LiteRT's "
                      f"{theirs[place]!s}")


def distance(ours, theirs):
    """Largest difference: in steps for integers, over the largest of `theirs` for floats.

    None for other shapes or types, and where infinities or NaN are in other places.
    """
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return None
    if theirs.dtype.kind not in "fc":
        wide = np.int64 if theirs.dtype != np.uint64 else object
        return float(np.abs(ours.astype(wide) - theirs.astype(wide)).max(initial=0))
    finite = np.isfinite(theirs)
    if not np.array_equal(ours[~finite], theirs[~finite], equal_nan=True) or not np.isfinite(ours[finite]).all():
        return None
    wide = np.complex128 if theirs.dtype.kind == "c" else np.float64
    ours, theirs = ours[finite].astype(wide), theirs[finite].astype(wide)
    return float(np.abs(ours - theirs).max(initial=0) / max(np.abs(theirs).max(initial=0), 1e-30))


def _first(ours, theirs, apart, bound):
    """Index of the first value beyond the bound; where there is none, of the first that is not the same."""
    if theirs.dtype.kind in "fc":
        wide = np.complex128 if theirs.dtype.kind == "c" else np.float64
        finite = np.isfinite(theirs)
        with np.errstate(invalid="ignore"):
            limit = bound * np.abs(theirs[finite].astype(wide)).max(initial=0)
            beyond = apart & ~(np.abs(ours.astype(wide) - theirs.astype(wide)) <= limit)
        apart = beyond if beyond.any() else apart
    return tuple(map(int, np.unravel_index(np.argmax(apart), apart.shape)))
