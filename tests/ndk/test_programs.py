"""The C library as C programs see it: tests/ndk/programs, one test for each row of their tables."""


def test_program(case, program, run):
    source, name = case
    assert run(program(source), name) == ""
