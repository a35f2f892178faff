"""Record of a chain of element-wise steps that run block by block."""

from ..._native import engine
from .base import Index, Slots, StepRecord, require
from .elements import BinaryF32, BinaryQ8, ClampF32, LookupQ8, UnaryF32


class Blocks(StepRecord):
    steps: tuple[BinaryF32 | BinaryQ8 | UnaryF32 | ClampF32 | LookupQ8, ...]
    inner: Slots
    budget: Index

    def reach(self, plan):
        require(2 <= len(self.steps) <= engine.MAX_LINKS, f"{len(self.steps)} steps in blocks")
        reads, sizes, inner = [], {}, set(self.inner)
        for step in self.steps:
            found, made = step.reach(plan)
            for slot, size in found:
                require(sizes[slot] == size if slot in sizes else slot not in inner, "a step that reads another's part")
                if slot not in sizes:
                    reads.append((slot, size))
            require(sizes.keys().isdisjoint(slot for slot, _ in made), "a slot that two steps write")
            sizes.update(made)
        require(inner <= sizes.keys(), "an inner slot that no step writes")
        return reads, [(slot, size) for slot, size in sizes.items() if slot not in inner]

    def make(self, plan):
        steps = [step.make(plan) for step in self.steps]
        require(len({step.elements for step in steps} | {0}) == 2, "blocks of unequal steps")
        return engine.Blocks(steps, self.inner, self.budget)
