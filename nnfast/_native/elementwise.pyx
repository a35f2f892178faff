"""Steps that compute each element by itself: functions of one and of two operands, casts, (de)quantization."""

include "elementwise/elementwise.pxi"
include "elementwise/lines.pxi"
include "elementwise/activation.pxi"
include "elementwise/convert.pxi"
include "elementwise/quantize.pxi"
include "elementwise/int16.pxi"
include "elementwise/tfl_binary.pxi"
