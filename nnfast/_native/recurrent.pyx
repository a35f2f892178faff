"""Steps of the recurrent layers: RNN, LSTM in float32 and in 8 bits, SVDF."""

include "recurrent/walk.pxi"
include "recurrent/gemv.pxi"
include "recurrent/svdf.pxi"
include "recurrent/lstm.pxi"
include "recurrent/lstm_rows.pxi"
include "recurrent/lstm_q8.pxi"
include "recurrent/svdf_q8.pxi"
