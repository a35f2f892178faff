"""`nnfast doctor` finds what was broken on purpose, and says what to do."""

import json
import os
import socket

import pytest

from helpers.commands import call, outside
from helpers.service import serving
from nnfast.cli import doctor


@pytest.fixture
def found(monkeypatch, tmp_path, capsys):
    """found(**variables): (exit code, rows) in an environment of its own, with these variables."""
    for name in list(os.environ):
        if name.startswith("NNFAST_"):
            monkeypatch.delenv(name)
    for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))

    def look(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, str(value))
        code = call("doctor", "--json", "-")
        return code, json.loads(capsys.readouterr().out)["findings"]

    return look


def rows_of(rows, area, verdict):
    return [row["found"] + " -> " + row["do"] for row in rows if (row["area"], row["verdict"]) == (area, verdict)]


def test_a_good_installation(found, tmp_path):
    code, rows = found(NNFAST_CACHE_DIR=tmp_path / "made")
    assert code == 0 and not [row for row in rows if row["verdict"] == "BAD"]
    assert any("% of 360 digits are right" in text for text in rows_of(rows, "self-test", "ok"))
    assert any("will be made" in text for text in rows_of(rows, "cache", "ok"))
    assert any("nobody serves" in text for text in rows_of(rows, "driver", "ok"))


def test_text_fits_80_columns(capsys):
    call("doctor")
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80 and lines[0].startswith("ok ")
    row = {"area": "cache", "found": "word " * 40, "verdict": "BAD", "do": "mend " * 40}
    wrapped = list(doctor.lines_of([row], 80))
    assert max(map(len, wrapped)) <= 80 and wrapped[0].startswith("BAD  cache  word") and "-> mend" in "".join(wrapped)


def test_variables_that_nothing_reads(found):
    code, rows = found(NNFAST_THREADS="2", NNFAST_NUM_THREADS="1")
    odd, = rows_of(rows, "settings", "odd")
    assert code == 0 and "NNFAST_THREADS is set" in odd and "NNFAST_NUM_THREADS?" in odd


def test_refused_settings_end_it(tmp_path):
    done = outside("doctor", env={**os.environ, "NNFAST_CPU": "avx3"})
    assert done.returncode == 1 and done.stderr == ""
    assert "BAD  settings" in done.stdout and "'avx3' is not one of" in done.stdout
    assert "self-test" not in done.stdout


def test_a_lower_level_is_told(tmp_path):
    done = outside("doctor", env={**os.environ, "NNFAST_CPU": "scalar"})
    assert "level scalar" in done.stdout


def test_a_package_that_cannot_be_imported(found, monkeypatch):
    def broken(name):
        raise ImportError("libz.so.9: no such file")
    monkeypatch.setattr(doctor, "import_module", broken)
    code, rows = found()
    assert code == 1 and any("libz.so.9" in text for text in rows_of(rows, "packages", "BAD"))


@pytest.mark.parametrize("locks, verdict, words", [(True, "odd", "free-threaded"), (False, "BAD", "global lock")])
def test_a_free_threaded_python(found, monkeypatch, locks, verdict, words):
    monkeypatch.setattr(doctor.sys, "_is_gil_enabled", lambda: locks, raising=False)
    monkeypatch.setattr(doctor.sysconfig, "get_config_var", lambda name: int(name == "Py_GIL_DISABLED"))
    code, rows = found()
    assert code == (verdict == "BAD") and any(words in text for text in rows_of(rows, "python", verdict))


def test_kernels_that_compute_something_else(found, monkeypatch):
    import nnfast
    from nnfast._native import kernels

    class Wrong(nnfast.Device):
        def compile(self, *args, **options):
            prepared = super().compile(*args, **options)
            off = kernels.level() != "scalar"

            class Shifted:
                def run(self, inputs, **options):
                    return [y ^ off for y in prepared.run(inputs, **options)]
            return Shifted()

    if kernels.levels() == ["scalar"]:
        pytest.skip("this machine has one level")
    monkeypatch.setattr(nnfast, "Device", Wrong)
    before = kernels.level()
    code, rows = found()
    bad, = rows_of(rows, "self-test", "BAD")
    assert code == 1 and "differ from those of scalar" in bad and kernels.level() == before


# -- files and processes ---------------------------------------------------------------------------------------------
def test_a_cache_that_others_may_change(found, tmp_path):
    folder = tmp_path / "made"
    folder.mkdir()
    folder.chmod(0o777)
    code, rows = found(NNFAST_CACHE_DIR=folder)
    bad, = rows_of(rows, "cache", "BAD")
    assert code == 1 and "others may change the folder" in bad
    folder.chmod(0o700)
    assert found()[0] == 0


@pytest.mark.parametrize("content, mode, words", [(b"short", 0o600, "holds no key"),
                                                  (b"x" * 32, 0o644, "others may read")])
def test_a_key_that_is_not_used(found, tmp_path, content, mode, words):
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(mode)
    code, rows = found(NNFAST_KEY=path)
    bad, = rows_of(rows, "key", "BAD")
    assert code == 1 and words in bad


def test_the_drivers_process(found, tmp_path):
    with serving(tmp_path) as (path, _):
        code, rows = found(NNFAST_SOCKET=path)
        assert code == 0 and any("serves at" in text for text in rows_of(rows, "driver", "ok"))


def test_a_socket_that_is_left_over(found, tmp_path):
    path = tmp_path / "dead.sock"
    left = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    left.bind(str(path))
    left.close()
    code, rows = found(NNFAST_SOCKET=path)
    assert code == 0 and len(rows_of(rows, "driver", "odd")) == 1


def test_something_else_at_the_sockets_path(found, tmp_path):
    (tmp_path / "file").write_text("")
    code, rows = found(NNFAST_SOCKET=tmp_path / "file")
    assert code == 1 and "is no socket" in rows_of(rows, "driver", "BAD")[0]


def test_a_litert_python_without_litert(found):
    code, rows = found(NNFAST_LITERT_PYTHON="/bin/false")
    assert code == 1 and rows_of(rows, "LiteRT", "BAD")
