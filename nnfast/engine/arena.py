"""Places temporaries in one block: lifetimes -> offsets."""

ALIGNMENT = 64


def align(size):
    """Size rounded up to whole cache lines."""
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def place(blocks):
    """Offsets for temporaries that share memory where their lifetimes do not meet.

    blocks: {key: (size in bytes, first step, last step)}, steps inclusive. Returns ({key: offset}, total bytes).
    Largest first, each at the lowest gap between those placed already that live at the same time.
    """
    offsets = {}
    placed = []
    total = 0
    for key, (size, first, last) in sorted(blocks.items(), key=lambda item: (-item[1][0], item[1][1], item[0])):
        size = align(max(size, 1))
        at = 0
        for start, end in sorted((start, end) for start, end, a, b in placed if a <= last and first <= b):
            if start - at >= size:
                break
            at = max(at, end)
        offsets[key] = at
        placed.append((at, at + size, first, last))
        total = max(total, at + size)
    return offsets, total
