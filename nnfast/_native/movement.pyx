"""Steps that move data: copies, fills, transpositions, CONCATENATION, GATHER, reversed sequences."""

include "movement/copy.pxi"
include "movement/gather.pxi"
include "movement/transpose.pxi"
include "movement/parts.pxi"
include "movement/reverse.pxi"
