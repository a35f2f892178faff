"""Measures nnfast/__init__.py: a fresh interpreter, from the import to the first result; on top of numpy or with it."""

from . import common


def timeraw_import():
    return "import nnfast"


def timeraw_first_use():
    return "import nnfast; nnfast.Device, nnfast.load"


def timeraw_first_use_after_numpy():
    return "import nnfast; nnfast.Device, nnfast.load", "import numpy"


FIRST_RESULT = """
import nnfast
import numpy
prepared = nnfast.Device().prepare(nnfast.load({path!r}))
prepared.run([numpy.zeros(info.shape, info.dtype) for info in prepared.inputs])
"""


def timeraw_first_result(model):
    return FIRST_RESULT.format(path=common.model_path(model))


timeraw_first_result.params = (common.MODEL_NAMES,)
timeraw_first_result.param_names = ("model",)
