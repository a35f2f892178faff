"""Record of a chain of steps that run band by band."""

from ..._native import engine
from .base import Index, StepRecord, require
from .windows import Conv2dF32, Conv2dLineF32, DepthwiseConv2DF32, Pool2D

_MOST = 1 << 32


class Bands(StepRecord):
    steps: tuple[Conv2dF32 | Conv2dLineF32 | DepthwiseConv2DF32 | Pool2D, ...]
    budget: Index

    def reach(self, plan):
        require(2 <= len(self.steps) <= engine.MAX_STEPS, f"{len(self.steps)} steps in bands")
        first, last, reads = self.steps[0], self.steps[-1], []
        for step in self.steps:
            found, made = step.reach(plan)
            require(max(size for _, size in (*found, *made)) < _MOST, "a tensor beyond all tensors")
            reads += found if step is first else found[1:]
        return reads, [(last.slots[-1], made[0][1])]

    def make(self, plan):
        steps = [step.make(plan) for step in self.steps]
        require(all(step.window is not None for step in steps), "a step that knows no bands")
        for step, after in zip(steps, steps[1:]):
            require(step.slots[-1] == after.slots[0] and step.window[1] == after.window[0]
                    and step.out_row == after.in_row, "bands that do not follow each other")
        return engine.Bands(steps, self.budget)
