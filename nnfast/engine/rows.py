"""Rows of a plan: what explain(), profiles and traces tell of each operation."""


def new_row(index, op, kernel, **facts):
    """The row of operation number `index`, a dict; facts: what differs from the values here.

    op: its definition. kernel: names of its kernels, or "numpy"; reason: why numpy runs it. output, types: shapes and
    dtypes of its outputs. packed_bytes: of its packed weights; bytes: those that it reads and writes, each once. work:
    what its steps cost: multiply-adds if `multiply_adds`, else elements. steps: the first of its steps, and the one
    after its last. joined: the operation in whose time it runs, or None. passes: names of the compiler passes that
    changed it. moves: it only changes layout or type. bf16: it multiplies in bfloat16.
    """
    return {"index": index, "operation": op.name, "kernel": kernel, "reason": "", "output": [], "types": [],
            "packed_bytes": 0, "bytes": 0, "work": 0.0, "steps": (0, 0), "joined": None, "passes": [],
            "moves": op.moves, "multiply_adds": op.multiply_adds, "bf16": False, **facts}
