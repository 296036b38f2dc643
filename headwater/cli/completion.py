"""Input: a shell's name. Output: a script that completes commands, options, chips and kernels in that shell."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import NamedTuple

from headwater.cli.options import Parser

_USAGE = "bash | zsh | fish"
_DESCRIPTION = """\
Print a script that completes this command in a shell: commands, options and their values, the names of chips, and the
names of kernels, which are read from the source file on the command line.
"""
_EXAMPLES = """\
examples:
  eval "$(headwater completion bash)"                  in ~/.bashrc
  eval "$(headwater completion zsh)"                   in ~/.zshrc, behind compinit
  headwater completion fish | source                   in ~/.config/fish/config.fish
"""
_DEVICES = ("--device", "-d", "--verify")
_KERNELS = ("--kernel", "-k")
_FIND_KERNELS = r"""grep -ohE '(kernel|reduce)[[:space:]]+void[[:space:]]+[A-Za-z_][A-Za-z_0-9]*'"""
"""Of sources in Brook+ and OpenCL C; attributes between the words are passed over."""


class _Option(NamedTuple):
    names: tuple[str, ...]
    takes_value: bool
    values: tuple[str, ...]
    help: str


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    parser = Parser("completion", _USAGE, _DESCRIPTION, _EXAMPLES)
    parser.add_argument("shell", choices=["bash", "zsh", "fish"], help="the shell")
    args = parser.parse(words)
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell](), end="")
    return 0


class _Found(Exception):
    """Carries a command's parser out of it."""


def _parser(command: str) -> argparse.ArgumentParser:
    """The parser of a command, which is made where its words are parsed, before it does anything."""
    from headwater.cli import COMMANDS

    def found(parser: Parser, words: Sequence[str]) -> argparse.Namespace:
        raise _Found(parser)

    before = Parser.parse
    Parser.parse = found  # type: ignore[method-assign, assignment]
    try:
        import_module(COMMANDS[command][0]).main([])
    except _Found as one:
        parser: argparse.ArgumentParser = one.args[0]
        return parser
    finally:
        Parser.parse = before  # type: ignore[method-assign]
    raise AssertionError(f"{command} parses no words")


def _options(parser: argparse.ArgumentParser) -> Iterator[_Option]:
    for action in parser._actions:
        if action.option_strings:
            values = tuple(map(str, action.choices or ()))
            yield _Option(tuple(action.option_strings), action.nargs != 0, values, action.help or "")


def _choices(parser: argparse.ArgumentParser) -> list[str]:
    """Words that may stand for an argument which is no option."""
    return [str(word) for action in parser._actions if not action.option_strings for word in action.choices or ()]


def _device_names() -> list[str]:
    from headwater import chips

    return ["cpu", "gpu", *chips.names()]


def _bash() -> str:
    from headwater.cli import COMMANDS

    cases = []
    for command in COMMANDS:
        parser = _parser(command)
        options = list(_options(parser))
        lines = [
            f"            {'|'.join(option.names)}) words={shlex.quote(' '.join(option.values))} ;;"
            for option in options
            if option.values
        ]
        others = " ".join(name for option in options for name in option.names)
        taken = [name for option in options if option.takes_value and not option.values for name in option.names]
        files = "|".join(name for name in taken if name not in (*_DEVICES, *_KERNELS))
        if files:
            lines.append(f'            {files}) COMPREPLY=($(compgen -f -- "$current")); return ;;')
        known = f"options={shlex.quote(others)} arguments={shlex.quote(' '.join(_choices(parser)))}"
        head = f'    {command})\n        {known}\n        case "$previous" in\n'
        cases.append(head + "".join(f"{line}\n" for line in lines) + "        esac ;;\n")
    return f"""\
# Completion of headwater for bash. It was made by: headwater completion bash
_headwater() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" words="" options="" arguments=""
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W {shlex.quote(" ".join([*COMMANDS, "help", "--help", "--version"]))} -- "$current"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{"".join(cases)}    esac
    case "$previous" in
        {"|".join(_DEVICES)}) words={shlex.quote(" ".join(_device_names()))} ;;
        {"|".join(_KERNELS)})
            local word
            for word in "${{COMP_WORDS[@]:2}}"; do
                [ -f "$word" ] && words="$words $({_FIND_KERNELS} "$word" 2>/dev/null | grep -oE '[A-Za-z_0-9]+$' | tr '\\n' ' ')"
            done ;;
    esac
    if [ -n "$words" ]; then
        COMPREPLY=($(compgen -W "$words" -- "$current"))
    elif [ "${{current:0:1}}" = - ]; then
        COMPREPLY=($(compgen -W "$options" -- "$current"))
    else
        COMPREPLY=($(compgen -W "$arguments" -- "$current") $(compgen -f -- "$current"))
    fi
}}
complete -o filenames -F _headwater headwater
"""  # noqa: E501 - lines of the script


def _zsh() -> str:
    return f"autoload -U +X bashcompinit && bashcompinit\n{_bash()}"


def _fish() -> str:
    from headwater.cli import COMMANDS

    lines = ["# Completion of headwater for fish. It was made by: headwater completion fish"]
    for command, (_, what) in COMMANDS.items():
        lines.append(f"complete -c headwater -n __fish_use_subcommand -f -a {command} -d {_quoted(what)}")
        condition = f"-n '__fish_seen_subcommand_from {command}'"
        parser = _parser(command)
        if choices := _choices(parser):
            lines.append(f"complete -c headwater {condition} -f -a '{' '.join(choices)}'")
        for option in _options(parser):
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-{'s' if len(name) == 2 else 'o'} {name[1:]}"
                for name in option.names
            )
            values = " ".join(option.values)
            if set(option.names) & set(_DEVICES):
                values = " ".join(_device_names())
            elif set(option.names) & set(_KERNELS):
                values = f"({_FIND_KERNELS} (commandline -opc)[3..-1] 2>/dev/null | grep -oE '[A-Za-z_0-9]+$')"
            takes = (f" -x -a {_quoted(values)}" if values else " -r") if option.takes_value else ""
            lines.append(f"complete -c headwater {condition} {names}{takes} -d {_quoted(option.help)}")
    return "".join(f"{line}\n" for line in lines)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("%%", "%") + "'"
