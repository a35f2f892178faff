"""Model metadata and label files for files of file_builder."""

import io
import zipfile

import flatbuffers


class _Tables:
    """Writes flatbuffer tables by slot."""

    def __init__(self):
        self.builder = flatbuffers.Builder(256)

    def table(self, *slots):
        """A table with offsets (int) or (byte value,) in its slots; None leaves one out."""
        self.builder.StartObject(len(slots))
        for slot, value in enumerate(slots):
            if isinstance(value, tuple):
                self.builder.PrependUint8Slot(slot, value[0], 0)
            elif value is not None:
                self.builder.PrependUOffsetTRelativeSlot(slot, value, 0)
        return self.builder.EndObject()

    def vector(self, offsets):
        self.builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.builder.PrependUOffsetTRelative(offset)
        return self.builder.EndVector()

    def floats(self, values):
        self.builder.StartVector(4, len(values), 4)
        for value in reversed(values):
            self.builder.PrependFloat32(value)
        return self.builder.EndVector()


def metadata(mean, std, labels):
    """Bytes of the metadata of a model with one input that is normalized, and one output with a label file."""
    t = _Tables()
    options = t.table(t.floats(mean), t.floats(std))
    image = t.table(t.builder.CreateString("image"), None, None, None, t.vector([t.table((1,), options)]))
    file = t.table(t.builder.CreateString("labels.txt"), None, (2,))
    scores = t.table(t.builder.CreateString("scores"), None, None, None, None, None,
                     t.vector([file]) if labels else None)
    graph = t.table(None, None, t.vector([image]), t.vector([scores]))
    t.builder.Finish(t.table(t.builder.CreateString("model"), None, None, t.vector([graph])), file_identifier=b"M001")
    return bytes(t.builder.Output())


def with_labels(data, labels):
    """A file with its label file in an archive behind it."""
    stream = io.BytesIO(data)
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("labels.txt", "\n".join(labels) + "\n")
    return stream.getvalue()
