"""What tests of several folders share: `from helpers import models`, `from helpers.nodes import operand, run`.

nodes             operands and single operations by hand, their numpy form
lowered, steps    native steps of an operation, or of a family, beside it
models, shared    small models of several operations; the benchmark models and vectors under NNFAST_SHARED
vectors, ...      conformance vectors of one operation; `vector_files` writes some
service, ...      servers, clients, other processes; `raw_client` speaks the protocol by hand
hal_clients, ...  clients of the HAL faces, `burst_clients` of their bursts
tflite            files built from parts, cases of operators, damage
"""
