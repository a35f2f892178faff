"""Rows of a plan: the facts that explain(), profiles and traces show per operation."""


def new_row(index, op, kernel, **facts):
    """The row of operation number `index`, a dict; facts: values that replace the defaults.

    op: its definition. kernel: names of its kernels, or "numpy"; reason: why numpy runs it. output, types: shapes and
    dtypes of its outputs. packed_bytes: of its packed weights; bytes: read and written, each tensor once. work: cost of
    its steps, in multiply-adds if `multiply_adds`, else in elements. steps: its first step, and the one after its last.
    joined: the operation that its time is counted for, or None. passes: names of the compiler passes that changed it.
    moves: it only changes layout or type. bf16: it multiplies in bfloat16.
    """
    return {"index": index, "operation": op.name, "kernel": kernel, "reason": "", "output": [], "types": [],
            "packed_bytes": 0, "bytes": 0, "work": 0.0, "steps": (0, 0), "joined": None, "passes": [],
            "moves": op.moves, "multiply_adds": op.multiply_adds, "bf16": False, **facts}
