"""Packed weights of LSTM layers beside their definition in numpy."""

import numpy as np
import pytest

from nnfast._native.recurrent import pack_lstm_f32, packed_bytes_lstm

WIDTH = 16


def tiles_of(rows):
    """[units, ...] as [tiles, 16, ...], with zeros for what the last tile lacks."""
    more = -len(rows) % WIDTH
    return np.pad(rows, [(0, more)] + [(0, 0)] * (rows.ndim - 1)).reshape(-1, WIDTH, *rows.shape[1:])


def defined(weights, bias, peephole, half):
    """Each tile: bias and peephole weights [gates, 16], weights [inputs, gates, 16]; a multiple of 16 floats."""
    matrix = np.stack([tiles_of(np.concatenate(sides, 1)) for sides in weights], 1).transpose(0, 3, 1, 2)
    parts = [np.stack([tiles_of(row) for row in rows], 1) for rows in (bias, peephole) if rows]
    tiles = len(matrix)
    flat = matrix.reshape(tiles, -1)
    found = np.concatenate([*(part.reshape(tiles, -1) for part in parts),
                            np.ascontiguousarray(flat.astype(np.float16)).view(np.float32) if half else flat], 1)
    return np.pad(found, [(0, 0), (0, -found.shape[1] % WIDTH)])


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("peepholes", [0, 2])
@pytest.mark.parametrize(("units", "gates", "inputs"), [
    (1, 3, (1,)), (16, 4, (16, 16)), (17, 4, (5, 33)), (40, 3, (31, 7)), (33, 4, (48,))])
def test_every_weight_has_its_place(units, gates, inputs, peepholes, half):
    rng = np.random.default_rng(units)
    weights = [tuple(rng.standard_normal((units, width), np.float32) for width in inputs) for _ in range(gates)]
    bias, peephole = ([rng.standard_normal(units, np.float32) for _ in range(count)] for count in (gates, peepholes))
    packed = pack_lstm_f32(weights, bias, peephole, half)
    assert packed.nbytes == packed_bytes_lstm(units, gates, peepholes, sum(inputs), half)
    assert packed.tobytes() == defined(weights, bias, peephole, half).tobytes()


def test_weights_may_lie_in_memory_in_any_way():
    rng = np.random.default_rng(3)
    rows = [rng.standard_normal((20, 2 * width), np.float32) for width in (6, 9)]
    apart, whole = [(rows[0][:, ::2], rows[1][:, ::2])] * 3, [(rows[0][:, ::2].copy(), rows[1][:, ::2].copy())] * 3
    bias = [np.zeros(20, np.float32)] * 3
    assert pack_lstm_f32(apart, bias).tobytes() == pack_lstm_f32(whole, bias).tobytes()


@pytest.mark.parametrize("gate", [np.zeros((20, 6), np.float32), (np.zeros((19, 6), np.float32),),
                                  (np.zeros((20, 5), np.float32),), (np.zeros((20, 6), np.float32),) * 2, ()])
def test_gates_of_other_shapes_are_refused(gate):
    weights = [(np.zeros((20, 6), np.float32),), gate]
    for order in (weights, weights[::-1]):
        with pytest.raises(ValueError, match="matrices \\[20, inputs\\]"):
            pack_lstm_f32(order, [np.zeros(20, np.float32)] * 2)
