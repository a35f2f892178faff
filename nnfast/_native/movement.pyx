"""Steps that move data: copies, fills, transpositions, CONCATENATION, GATHER."""

include "movement/copy.pxi"
include "movement/gather.pxi"
include "movement/transpose.pxi"
