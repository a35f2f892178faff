"""A client of a driver's process that does all there is to do, for tests that kill it."""

import numpy as np

import nnfast
from helpers.service import add_model, add_request, dense_model, endless_model
from nnfast import Role

ONE = np.float32([1])
X = np.ones(4, np.float32)


def steps(path, rounds):
    """What a client does, step after step; told on stdout for the one who kills it."""
    device = nnfast.connect(path, patience=20)
    for _ in range(rounds):
        prepared, endless = device.prepare(dense_model()), device.prepare(endless_model())
        buffer = device.allocate([Role(prepared, 0)])
        buffer.copy_from(np.ones((1, 64), np.float32))
        prepared.run([np.ones((1, 64), np.float32)])
        gate = nnfast.Fence()
        add = device.prepare(add_model())
        add.execute(add_request(X, X, bytearray(16)))
        add.execute_fenced(add_request(X, X, np.zeros(16, np.uint8)), [gate])
        endless.submit([ONE]).cancel()
        endless.submit([ONE])
        endless.submit([ONE])
        print("round", flush=True)
