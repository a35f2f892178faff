"""Plans and how they run: steps, frames, programs, runners, bands of rows, and the memory of all of them."""

include "engine/plan.pxi"
include "engine/tally.pxi"
include "engine/runner.pxi"
include "engine/bands.pxi"
include "engine/blocks.pxi"
include "engine/gaps.pxi"
include "engine/pages.pxi"
