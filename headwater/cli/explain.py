"""Input: a name. Output: what it means."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.cli.options import Parser
from headwater.errors import UsageError

_USAGE = "NAME … [--list] [--json]"
_DESCRIPTION = """\
Explain a metric of headwater analyze, a counter of AMD's profilers, an instruction of GCN or of the VLIW chips, a field
of an encoding, or a class, clause, modifier, unit or wait of a listing or report.
"""
_EXAMPLES = """\
examples:
  headwater explain alu_fetch_ratio
  headwater explain MULADD_IEEE
  headwater explain v_fma_f32 global_load_dwordx4
  headwater explain BURST_COUNT
  headwater explain ALUPacking "fetch clause" VEC_120
  headwater explain --list
"""


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    parser = Parser("explain", _USAGE, _DESCRIPTION, _EXAMPLES)
    parser.add_argument("names", metavar="NAME", nargs="*", help="a metric, a mnemonic, a field")
    parser.add_argument("--list", action="store_true", help="list the metrics, a line each")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse(words)
    from headwater.analyze.explain import explain
    from headwater.analyze.glossary import metrics

    if args.list and args.json:
        import json
        from dataclasses import asdict

        print(json.dumps([asdict(entry) for entry in metrics().values()], ensure_ascii=False))
        return 0
    if args.list:
        width = max(map(len, metrics()))
        for entry in metrics().values():
            print(f"{entry.name:{width}}  {entry.title}{f' ({entry.unit})' if entry.unit else ''}")
        return 0
    if not args.names:
        raise UsageError(
            "nothing to explain is named", hint="headwater explain occupancy, say, or headwater explain --list"
        )
    found = [one for name in args.names for one in explain(name)]
    if args.json:
        import json
        from dataclasses import asdict

        print(json.dumps([asdict(one) for one in found], ensure_ascii=False))
    else:
        print("\n\n".join(map(str, found)))
    return 0
