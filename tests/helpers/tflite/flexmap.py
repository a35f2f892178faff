"""Options of custom operators as their files hold them."""

from flatbuffers import flexbuffers


def flexmap(values):
    """Bytes of a map of integers, floats, texts and vectors of integers."""
    builder = flexbuffers.Builder()
    with builder.Map():
        for name, value in sorted(values.items()):
            builder.Key(name)
            if isinstance(value, tuple):
                builder.TypedVectorFromElements(value)
            else:
                builder.Add(value)
    return bytes(builder.Finish())
