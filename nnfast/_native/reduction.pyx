"""Steps over rows of values: sums and extremes, ARGMAX, TOPK_V2, SOFTMAX, the normalizations."""

include "reduction/reduce.pxi"
include "reduction/tfl_reduce.pxi"
include "reduction/arg.pxi"
include "reduction/topk.pxi"
include "reduction/softmax.pxi"
include "reduction/normalization.pxi"
