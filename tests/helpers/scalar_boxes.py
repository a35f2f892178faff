"""Boxes once more, one at a time in plain Python [NN 15.3]."""

import math


def transform(box, delta, image):
    """Corner box moved by [dx, dy, dw, dh] and clipped to (height, width)."""
    x1, y1, x2, y2 = box
    w, h = math.exp(delta[2]) * (x2 - x1), math.exp(delta[3]) * (y2 - y1)
    cx, cy = (x1 + x2) / 2 + delta[0] * (x2 - x1), (y1 + y2) / 2 + delta[1] * (y2 - y1)
    height, width = image
    return [min(max(v, 0), limit) for v, limit in
            ((cx - w / 2, width), (cy - h / 2, height), (cx + w / 2, width), (cy + h / 2, height))]


def overlap(a, b):
    """Intersection over union; NaN for two empty boxes."""
    a, b = [float(v) for v in a], [float(v) for v in b]
    common = max(min(a[2], b[2]) - max(a[0], b[0]), 0) * max(min(a[3], b[3]) - max(a[1], b[1]), 0)
    whole = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common
    return common / whole if whole else math.nan


def greedy(items, scores, limit, kill):
    """The list of [NN 15.3] with its swaps."""
    order, start = list(items), 0
    stop = len(order)
    limit = stop if limit < 0 else limit
    while start < stop and start < limit:
        best = max(range(start, stop), key=lambda place: (scores[order[place]], -place))
        order[start], order[best] = order[best], order[start]
        place = start + 1
        while place < stop:
            if kill(order[start], order[place]):
                stop -= 1
                order[place], order[stop] = order[stop], order[place]
            else:
                place += 1
        start += 1
    return order[:start]
