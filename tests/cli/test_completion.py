"""Completion of `nnfast` in shells: the script made of the parsers, and what shells make of it."""

import os
import re
import shutil
import subprocess

import pytest

from helpers.commands import assert_one_error_line, call
from nnfast.cli import completion
from nnfast.cli.main import COMMANDS, build_parser

ALL = completion.commands()


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """{shell: file with its script}"""
    folder = tmp_path_factory.mktemp("completion")
    made = {"bash": completion.bash, "zsh": completion.zsh, "fish": completion.fish}
    for shell, make in made.items():
        (folder / shell).write_text(make(ALL) + "\n")
    return {shell: folder / shell for shell in made}


def complete(scripts, folder, *words):
    """What bash offers for the last of the words, in a folder, after `nnfast`."""
    program = """
. "$1"; shift
COMP_WORDS=(nnfast "$@"); COMP_CWORD=$#
_nnfast
printf '%s\\n' "${COMPREPLY[@]}"
"""
    done = subprocess.run(["bash", "--norc", "-c", program, "bash", scripts["bash"], *words], capture_output=True,
                          text=True, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model.tflite").touch()
    (tmp_path / "my pictures").mkdir()
    (tmp_path / "models").mkdir()
    return tmp_path


def test_commands(scripts, folder):
    assert complete(scripts, folder, "") == [*COMMANDS, "--help", "--version"]
    assert complete(scripts, folder, "he") == ["health"]
    assert complete(scripts, folder, "nonsense") == []
    assert complete(scripts, folder, "nonsense", "--") == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_offered(scripts, folder, command):
    help_text = build_parser(command)[0]._subparsers._group_actions[0].choices[command].format_help()
    wanted = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", help_text.partition("options:")[2]))
    offered = complete(scripts, folder, command, "--")
    assert {word for word in offered if word.startswith("--")} >= \
        {word for word in wanted if build_knows(command, word)} and "--help" in offered


def build_knows(command, word):
    inner = build_parser(command)[0]._subparsers._group_actions[0].choices[command]
    return word in inner._option_string_actions


def test_values(scripts, folder):
    assert complete(scripts, folder, "serve", "--log-format", "") == ["text", "json"]
    assert complete(scripts, folder, "serve", "--log-level", "w") == ["warning"]
    assert complete(scripts, folder, "serve", "--threads", "") == []
    assert sorted(complete(scripts, folder, "run", "model.tflite", "--json", "mod")) == ["model.tflite", "models"]
    assert complete(scripts, folder, "mlts", "--models", "mod") == ["models"]
    assert complete(scripts, folder, "completion", "") == ["bash", "zsh", "fish"]
    assert sorted(complete(scripts, folder, "run", "mod")) == ["model.tflite", "models"]
    assert complete(scripts, folder, "doctor", "mod") == []


def test_names_with_blanks_stay_whole(scripts, folder):
    program = '. "$1"; COMP_WORDS=(nnfast run my); COMP_CWORD=2; _nnfast; echo "${#COMPREPLY[@]}:${COMPREPLY[0]}"'
    done = subprocess.run(["bash", "--norc", "-c", program, "bash", scripts["bash"]], capture_output=True, text=True,
                          cwd=folder)
    assert done.stdout == "1:my pictures\n"


def test_in_a_terminal_of_bash(scripts, folder):
    """As a user: the tabulator in an interactive shell."""
    import pty
    import select
    import time

    pid, terminal = pty.fork()
    if not pid:
        os.chdir(folder)
        os.environ.update(TERM="dumb", PS1="> ", INPUTRC="/dev/null")
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
    text, waiting = b"", select.poll()  # select itself takes no descriptor above 1023
    waiting.register(terminal, select.POLLIN)
    try:
        os.write(terminal, f". {scripts['bash']}; nnfast() {{ echo \"<$*>\"; }}\n".encode())
        os.write(terminal, b"nnfast hea\t--sock\tx\n")
        until = time.monotonic() + 600
        while b"<health --socket x>" not in text and time.monotonic() < until:
            if waiting.poll(1000):
                text += os.read(terminal, 4096)
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)
    assert b"<health --socket x>" in text, text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_read_theirs(scripts, shell):
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell}")
    done = subprocess.run([shell, "-n", scripts[shell]], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_fish_offers_the_same(scripts, folder):
    if not shutil.which("fish"):
        pytest.skip("there is no fish")

    def offered(line):
        done = subprocess.run(["fish", "--no-config", "-c", f"source {scripts['fish']}; complete -C '{line}'"],
                              capture_output=True, text=True, cwd=folder, env={**os.environ, "HOME": str(folder)})
        assert done.stderr == ""
        return [row.split("\t")[0] for row in done.stdout.splitlines()]

    assert set(offered("nnfast ")) == set(COMMANDS)
    assert offered("nnfast serve --log-format ") == ["json", "text"]
    assert set(offered("nnfast health --")) == {"--help", "--socket", "--timeout", "--json"}
    assert "model.tflite" in offered("nnfast run mod")


def test_zsh_offers_the_same(scripts, folder):
    if not shutil.which("zsh"):
        pytest.skip("there is no zsh")
    program = """
autoload -Uz compinit; compinit -D -u
compadd_seen=()
_arguments() { for spec in "$@"; do print -r -- "$spec"; done }
_describe() { print -rl -- ${(P)2} }
. "$1"
words=(nnfast "${@:2}"); CURRENT=$#words
_nnfast
"""
    def specs(*words):
        done = subprocess.run(["zsh", "-f", "-c", program, "zsh", scripts["zsh"], *words], capture_output=True,
                              text=True)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout.splitlines()

    assert [line.split(":")[0] for line in specs("")] == list(COMMANDS)
    found = specs("serve", "--log-format", "")
    assert any(re.fullmatch(r"\*--log-format\[.*\]:log-format:\(text json\)", line) for line in found)


def test_help_tells_where_it_goes(capsys):
    assert call("completion", "--help") == 0
    text = capsys.readouterr().out
    assert "bash-completion/completions" in text and "fish/completions" in text
    assert call("completion", "tcsh") == 2
    assert_one_error_line(capsys, "tcsh", "bash")
    assert call("completion", "bash") == 0
    assert capsys.readouterr().out.endswith("complete -F _nnfast nnfast\n")


def test_every_file_and_folder_is_told_from_words():
    """A value that is a file says so by its metavar, which the script goes by."""
    files = {(name, option.names[0]) for name, (_, options, _) in ALL.items() for option in options
             if option.values in (completion.FILES, completion.FOLDERS)}
    names = ("--json", "--output", "--trace", "--html", "--socket", "--dot", "--image", "--plot", "--report", "--dump")
    assert {(name, option.names[0]) for name, (_, options, _) in ALL.items() for option in options
            if option.names[0] in names} <= files
