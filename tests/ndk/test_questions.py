"""What small models that the driver has never seen make the C library ask."""

from collections import Counter

from helpers.service import serving
from helpers.tree import ROOT
from nnfast.service.server import connection

CLIENT = ROOT / "tests" / "ndk" / "clients" / "small_models.c"
MODELS, FORMS, EXECUTIONS = 40, 11, 6
"""FORMS: of operations that the client has, of which the sizes make no others."""


def test_small_models_ask_little(program, run, tmp_path, monkeypatch):
    asked = Counter()

    def counting(kind, handler):
        def handle(*arguments):
            asked[kind.__name__] += 1
            return handler(*arguments)

        return handle

    for kind, handler in connection.HANDLERS.items():
        monkeypatch.setitem(connection.HANDLERS, kind, counting(kind, handler))
    with serving(tmp_path) as (path, server):
        run(program(CLIENT), "0", str(MODELS), socket=path)
        assert asked["GetUnsupported"] == MODELS  # by Model_finish, for getSupportedOperations too
        assert asked["Prepare"] == 2 * MODELS  # for low power, and for the other two preferences
        assert 0 < asked["Check"] <= FORMS  # one operation of each form
        assert asked["Execute"] <= EXECUTIONS * MODELS
        assert sum(asked.values()) == asked["GetUnsupported"] + asked["Prepare"] + asked["Check"] + asked["Execute"]
