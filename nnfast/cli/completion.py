"""`nnfast completion bash|zsh|fish`: a script that completes commands and options, made of what the parsers say."""

import argparse
import re
from importlib import import_module

SHELLS = ("bash", "zsh", "fish")
FILES, FOLDERS, WORDS, NOTHING = "files", "folders", "words", "nothing"
HOW = """Complete the words of `nnfast` in a shell.

  bash   nnfast completion bash > ~/.local/share/bash-completion/completions/nnfast
  zsh    nnfast completion zsh > ~/.zfunc/_nnfast     (a folder of fpath; compinit after it)
  fish   nnfast completion fish > ~/.config/fish/completions/nnfast.fish"""


def add_arguments(parser):
    parser.description, parser.formatter_class = HOW, argparse.RawDescriptionHelpFormatter
    parser.add_argument("shell", choices=SHELLS, help="whose language the script is in")


def main(args):
    print({"bash": bash, "zsh": zsh, "fish": fish}[args.shell](commands()))
    return 0


# -- what there is to complete -----------------------------------------------------------------------------------------
class Option:
    """An option or a positional argument. names: of an option; text: help of one line; values: one of FILES, FOLDERS,
    WORDS and NOTHING; words: of WORDS; flag: takes no value; several: takes any number of values."""

    def __init__(self, action):
        self.names = [name for name in action.option_strings if name.startswith("--")] or action.option_strings
        self.text = re.sub(r"\s+", " ", (action.help or "") % {"default": action.default, "prog": "nnfast"})
        self.flag, self.words = action.nargs == 0, [str(word) for word in action.choices or ()]
        self.several = action.nargs in ("+", "*")
        self.values = WORDS if self.words else _kind(action)


_FILE_NAMES = ("F", "FILE", "MODEL", "INPUT", "OUT", "PATH", "PY")


def _kind(action):
    name = action.metavar if isinstance(action.metavar, str) else ""
    if name == "DIR":
        return FOLDERS
    return FILES if name in _FILE_NAMES or name.startswith("F.") else NOTHING


class _Recorder:
    """Stands for a parser, and for its groups, to which a command adds its arguments: remembers them."""

    def __init__(self):
        self._parser, self.actions = argparse.ArgumentParser(add_help=False), []
        self.add_argument("--help", action="help", help="show the help and exit")

    def add_argument(self, *args, **options):
        self.actions.append(self._parser.add_argument(*args, **options))

    def add_argument_group(self, title, description):
        return self

    def add_mutually_exclusive_group(self, **options):
        return self


def commands():
    """{command: (help, options, positional arguments as Option)}."""
    from .main import COMMANDS

    found = {}
    for name, text in COMMANDS.items():
        parser = _Recorder()
        import_module(f".{name}", __package__).add_arguments(parser)
        actions = [action for action in parser.actions if action.help is not argparse.SUPPRESS]
        found[name] = (text, [Option(action) for action in actions if action.option_strings],
                       [Option(action) for action in actions if not action.option_strings])
    return found


# -- the scripts -------------------------------------------------------------------------------------------------------
def bash(found):
    """For bash: a function that looks at the command, the word before and the word itself."""
    cases, values = [], []
    for name, (_, options, places) in found.items():
        words = " ".join(word for option in options for word in option.names)
        place = places[0] if places else None
        rest = _bash_values(place) if place else "return"
        cases.append(f'        {name}) options="{words}"; rest() {{ {rest}; }} ;;')
        values += [f"        {name}:{word}) {_bash_values(option)}; return ;;"
                   for option in options if not option.flag for word in option.names]
    return "\n".join([
        "# bash completion for nnfast; made by: nnfast completion bash",
        "_nnfast() {",
        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} options",
        "    COMPREPLY=()",
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then",
        f'        COMPREPLY=($(compgen -W "{" ".join(found)} --help --version" -- "$word"))',
        "        return",
        "    fi",
        "    files() { compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); }",
        "    folders() { compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen -d -- \"$word\"); }",
        "    words() { COMPREPLY=($(compgen -W \"$1\" -- \"$word\")); }",
        '    case "$command:$before" in', *values, "    esac",
        '    case "$command" in', *cases, "        *) return ;;", "    esac",
        '    if [[ "$word" == -* ]]; then',
        '        words "$options"',
        "    else",
        "        rest",
        "    fi",
        "}",
        "complete -F _nnfast nnfast"])


def _bash_values(option):
    return {FILES: "files", FOLDERS: "folders", WORDS: f'words "{" ".join(option.words)}"',
            NOTHING: "return"}[option.values]


def zsh(found):
    """For zsh: _arguments of each command."""
    cases = []
    for name, (_, options, places) in found.items():
        specs = []
        for option in options:
            value = "" if option.flag else f":{_zsh_text(option.names[0].lstrip('-'))}:{_zsh_values(option)}"
            specs += [f"'*{word}[{_zsh_text(option.text)}]{value}'" for word in option.names]
        specs += [f"'{'*' if place.several else ''}:{_zsh_text(place.text) or 'argument'}:{_zsh_values(place)}'"
                  for place in places]
        cases.append(f"        {name}) _arguments {' '.join(specs)} ;;")
    listed = " ".join(f"'{name}:{_zsh_text(text)}'" for name, (text, *_) in found.items())
    return "\n".join([
        "#compdef nnfast",
        "# zsh completion for nnfast; made by: nnfast completion zsh",
        "_nnfast() {",
        f"    local -a commands=({listed})",
        "    if (( CURRENT == 2 )); then",
        "        _describe command commands",
        "        return",
        "    fi",
        "    local command=$words[2]",
        "    shift words; (( CURRENT-- ))",
        "    case $command in", *cases, "    esac",
        "}",
        'if [ "$funcstack[1]" = "_nnfast" ]; then _nnfast "$@"; else compdef _nnfast nnfast; fi'])


def _zsh_text(text):
    return re.sub(r"([\[\]:\\])", r"\\\1", text.replace("'", "’"))


def _zsh_values(option):
    return {FILES: "_files", FOLDERS: "_files -/", WORDS: f"({' '.join(option.words)})", NOTHING: " "}[option.values]


def fish(found):
    """For fish: a line for every option."""
    lines = ["# fish completion for nnfast; made by: nnfast completion fish", "complete -c nnfast -f"]
    for name, (text, options, places) in found.items():
        lines.append(f"complete -c nnfast -n __fish_use_subcommand -a {name} -d {_fish_text(text)}")
        inside = f'-n "__fish_seen_subcommand_from {name}"'
        for option in options:
            value = "" if option.flag else {FILES: " -rF", FOLDERS: " -xa '(__fish_complete_directories)'",
                                            WORDS: f" -xa '{' '.join(option.words)}'", NOTHING: " -x"}[option.values]
            lines += [f"complete -c nnfast {inside} {_fish_name(word)}{value} -d {_fish_text(option.text)}"
                      for word in option.names]
        if places and places[0].values == FILES:
            lines.append(f"complete -c nnfast {inside} -F")
        elif places and places[0].words:
            lines.append(f"complete -c nnfast {inside} -a '{' '.join(places[0].words)}'")
    return "\n".join(lines)


def _fish_name(word):
    return f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}"


def _fish_text(text):
    return "'" + text.replace("\\", r"\\").replace("'", r"\'") + "'"
