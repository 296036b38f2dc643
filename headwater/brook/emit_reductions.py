"""Input: a checked reduction. Output: the OpenCL C of its body function and of its ``__kernel`` entries."""

from __future__ import annotations

from headwater.brook.emit_body import Lines
from headwater.brook.emit_kernels import KernelEmitter
from headwater.brook.model import Entry
from headwater.brook.naming import Names

ORDERED_PARTS = 8
"""Parts of a run that are folded side by side: enough to hide the time of one addition (measured: 9 GB/s instead of 2.5
on one core)."""
COLUMN_ROWS = 8
"""Rows that are read side by side: as many streams as processors prefetch well (4 and 16 measured 5 to 10 % slower)."""


class ReductionEmitter(KernelEmitter):
    """Prints one reduction."""

    def entries(self) -> list[tuple[Entry, Lines]]:
        return [self._reduce_full(), self._reduce_columns(), self._reduce_partial()]

    def _fold(self, element: str, accumulator: str) -> str:
        return f"{self.call(lambda _: element, results=lambda _: accumulator)};"

    def _reduce_full(self) -> tuple[Entry, Lines]:
        entry = self.start("reduce_full")
        names = self.entry_names()
        source = self.inputs[0]
        type_ = source.type
        count, scratch, item, value = (names.fresh(name) for name in ("count", "scratch", "item", "value"))
        self.argument(entry, "local", scratch, source, f"__local {type_.name} *")
        self.argument(entry, "count", count, None, "const int")
        fold = self._strided_fold if self.kernel.commutative else self._ordered_fold
        active, lines = fold(names, count, scratch, item, value)
        result = next(p for p in self.kernel.parameters if p.kind == "reduce")
        store = self.storage.store(result.c_name, "get_group_id(0)", type_, value)
        entry.lines = [f"const int {item} = get_local_id(0);", *lines, f"if ({item} == 0 && {active} > 0) {store};"]
        return self.finish(entry)

    def _strided_fold(self, names: Names, count: str, scratch: str, item: str, value: str) -> tuple[str, list[str]]:
        """A group folds a stretch of elements, its work-items side by side; all do the same rounds, but for the rest.

        Four results at a time keep four loads under way. Gives the name of the number of work-items that have a result,
        and the text.
        """
        source = self.inputs[0]
        size, units, first, end, last, rounds, i, n, active, part, left = (
            names.fresh(name)
            for name in ("size", "units", "first", "end", "last", "rounds", "i", "n", "active", "part", "left")
        )
        second, third, fourth = (names.fresh(f"{value}{k}") for k in (2, 3, 4))

        def load(index: str) -> str:
            return self.storage.load(source.c_name, index, source.type).text

        lines = [
            f"const int {size} = get_local_size(0);",
            "/* Each group folds one stretch of the input, in units of its size; the order does not matter. */",
            f"const long {units} = {count} / {size} + ({count} % {size} != 0);",
            f"const int {first} = (int)({units} * get_group_id(0) / get_num_groups(0) * {size});",
            f"const ulong {end} = {units} * (get_group_id(0) + 1) / get_num_groups(0) * {size};",
            f"const int {last} = (int)min({end}, (ulong){count});",
            f"const int {rounds} = ({last} - {first}) / {size};",
            f"int {i} = {first} + {item};",
            f"{source.type.name} {value} = {load(f'min({i}, {count} - 1)')};",
            f"int {n} = 1;",
            f"if ({rounds} >= 4) {{",
            f"    {source.type.name} {second} = {load(f'{i} + {size}')};",
            f"    {source.type.name} {third} = {load(f'{i} + 2 * {size}')};",
            f"    {source.type.name} {fourth} = {load(f'{i} + 3 * {size}')};",
            f"    for ({n} = 4; {n} + 4 <= {rounds}; {n} += 4) {{",
            f"        {i} += 4 * {size};",
            f"        {self._fold(load(i), f'&{value}')}",
            f"        {self._fold(load(f'{i} + {size}'), f'&{second}')}",
            f"        {self._fold(load(f'{i} + 2 * {size}'), f'&{third}')}",
            f"        {self._fold(load(f'{i} + 3 * {size}'), f'&{fourth}')}",
            "    }",
            f"    {i} += 3 * {size};",
            f"    {self._fold(second, f'&{value}')}",
            f"    {self._fold(fourth, f'&{third}')}",
            f"    {self._fold(third, f'&{value}')}",
            "}",
            f"for (; {n} < {rounds}; ++{n}) {{",
            f"    {i} += {size};",
            f"    {self._fold(load(i), f'&{value}')}",
            "}",
            f"if ({rounds} > 0 && {i} < {last} - {size}) {{",
            f"    {self._fold(load(f'{i} + {size}'), f'&{value}')}",
            "}",
            f"const int {active} = min({last} - {first}, {size});",
            f"{scratch}[{item}] = {value};",
            "barrier(CLK_LOCAL_MEM_FENCE);",
            f"for (int {left} = {active}; {left} > 1;) {{",
            f"    const int {part} = ({left} + 1) / 2;",
            f"    if ({item} + {part} < {left}) {{",
            f"        {self._fold(f'{scratch}[{item} + {part}]', f'&{value}')}",
            f"        {scratch}[{item}] = {value};",
            "    }",
            "    barrier(CLK_LOCAL_MEM_FENCE);",
            f"    {left} = {part};",
            "}",
        ]
        return active, lines

    def _ordered_fold(self, names: Names, count: str, scratch: str, item: str, value: str) -> tuple[str, list[str]]:
        """Each work-item folds a run of neighbours, then neighbours' results are folded: operands stay in order.

        A run is folded in parts side by side, as each fold has to wait for the one before it.
        """
        source = self.inputs[0]
        size, first, active, i, run, runs, end, step, part, n = (
            names.fresh(name) for name in ("size", "first", "active", "i", "run", "runs", "end", "step", "part", "n")
        )
        others = [names.fresh(f"{value}{k}") for k in range(2, ORDERED_PARTS + 1)]

        def load(index: str) -> str:
            return self.storage.load(source.c_name, index, source.type).text

        def beyond(k: int) -> str:
            return f"{i} + {part}" if k == 1 else f"{i} + {k} * {part}"

        lines = [
            f"const int {size} = get_global_size(0);",
            f"const int {first} = get_global_id(0) - {item};",
            "/* Each work-item folds a run of neighbours, so that operands stay in order; its parts side by side. */",
            f"const int {runs} = min({size}, {count});",
            f"const int {active} = clamp({runs} - {first}, 0, (int)get_local_size(0));",
            f"const long {run} = {first} + {item};",
            f"int {i} = (int)min({count} * {run} / {runs}, (long)({count} - 1));",
            f"const int {end} = (int)min({count} * ({run} + 1) / {runs}, (long){count});",
            f"const int {part} = ({end} - {i}) / {ORDERED_PARTS};",
            f"{source.type.name} {value} = {load(i)};",
            f"if ({part} > 1) {{",
            *(f"    {source.type.name} {v} = {load(beyond(k))};" for k, v in enumerate(others, 1)),
            f"    for (int {n} = 1; {n} < {part}; ++{n}) {{",
            f"        ++{i};",
            f"        {self._fold(load(i), f'&{value}')}",
            *(f"        {self._fold(load(beyond(k)), f'&{v}')}" for k, v in enumerate(others, 1)),
            "    }",
            *(f"    {self._fold(v, f'&{value}')}" for v in others),
            f"    {i} += {ORDERED_PARTS - 1} * {part};",
            "}",
            f"while (++{i} < {end}) {{",
            f"    {self._fold(load(i), f'&{value}')}",
            "}",
            f"{scratch}[{item}] = {value};",
            "barrier(CLK_LOCAL_MEM_FENCE);",
            f"for (int {step} = 1; {step} < {active}; {step} *= 2) {{",
            f"    if ({item} % (2 * {step}) == 0 && {item} + {step} < {active}) {{",
            f"        {self._fold(f'{scratch}[{item} + {step}]', f'&{value}')}",
            f"        {scratch}[{item}] = {value};",
            "    }",
            "    barrier(CLK_LOCAL_MEM_FENCE);",
            "}",
        ]
        return active, lines

    def _reduce_columns(self) -> tuple[Entry, Lines]:
        """Memory is read in its order, some rows at a time: results so far wait in the output meanwhile."""
        entry = self.start("reduce_columns")
        names = self.entry_names()
        source = self.inputs[0]
        result = next(p for p in self.kernel.parameters if p.kind == "reduce")
        type_ = source.type
        domain, count, size, width, rows, run, first, full, start, end, base, own, row, i, k, at, value = (
            names.fresh(name)
            for name in (
                *("domain", "count", "size", "width", "rows", "run", "first", "full", "start", "end", "base", "own"),
                *("row", "i", "k", "at", "value"),
            )
        )
        self.argument(entry, "domain", domain, result, "const int4")
        self.argument(entry, "count", count, None, "const int")
        columns = f"for (int {i} = {start} + get_local_id(0); {i} < {{}}; {i} += {size}) {{{{"

        def load(index: str) -> str:
            return self.storage.load(source.c_name, index, type_).text

        def fold(index: str, repeat: str = "") -> list[str]:
            return [
                f"    {type_.name} {value} = {self.storage.load(result.c_name, f'{own} + {i}', type_).text};",
                *([f"    {repeat}"] if repeat else []),
                f"    {'    ' if repeat else ''}{self._fold(load(index), f'&{value}')}",
                f"    {self.storage.store(result.c_name, f'{own} + {i}', type_, value)};",
                "}",
            ]

        def indented(lines: list[str]) -> list[str]:
            return [f"    {line}" for line in lines]

        entry.lines = [
            f"const int {size} = get_local_size(0), {width} = {domain}.x;",
            "/* Each group folds a stretch of rows for a segment of the columns. */",
            f"const int {rows} = {count} / {width} + ({count} % {width} != 0);",
            f"const int {run} = {rows} / {domain}.y + ({rows} % {domain}.y != 0);",
            f"const int {first} = get_group_id(1) * {run};",
            f"const int {full} = min({first} + {run}, {count} / {width});",
            f"const int {start} = get_group_id(0) * {domain}.w;",
            f"const int {end} = min({start} + {domain}.w, {width});",
            f"const int {base} = get_group_id(2) * {count};",
            f"const int {own} = (get_group_id(2) * {domain}.y + get_group_id(1)) * {width};",
            columns.format(end),
            f"    {type_.name} {value} = {load(f'{base} + {first} * {width} + {i}')};",
            f"    {self.storage.store(result.c_name, f'{own} + {i}', type_, value)};",
            "}",
            f"int {row} = {first} + 1;",
            f"for (; {row} + {COLUMN_ROWS} <= {full}; {row} += {COLUMN_ROWS}) {{",
            f"    {columns.format(end)}",
            f"        const int {at} = {base} + {row} * {width} + {i};",
            *indented(fold(f"{at} + {k} * {width}", f"for (int {k} = 0; {k} < {COLUMN_ROWS}; ++{k})")),
            "}",
            f"for (; {row} < {full}; ++{row}) {{",
            f"    {columns.format(end)}",
            *indented(fold(f"{base} + {row} * {width} + {i}")),
            "}",
            "/* The last row may not be full. */",
            f"if ({first} + {run} > {full}) {{",
            f"    {columns.format(f'min({end}, {count} - {full} * {width})')}",
            *indented(fold(f"{base} + {full} * {width} + {i}")),
            "}",
        ]
        return self.finish(entry)

    def _reduce_partial(self) -> tuple[Entry, Lines]:
        entry = self.start("reduce_partial")
        names = self.entry_names()
        use = self.support.use
        source = self.inputs[0]
        result = next(p for p in self.kernel.parameters if p.kind == "reduce")
        type_ = source.type
        domain, shape, p, tile, corner, value, x, y, z, w = (
            names.fresh(name) for name in ("domain", "shape", "p", "tile", "corner", "value", "x", "y", "z", "w")
        )
        self.argument(entry, "domain", domain, result, "const int4")
        self.argument(entry, "shape", shape, source, "const int4")
        index = self.support.use("hw_index")
        place = f"{index}({corner} + (int4)({x}, {y}, {z}, {w}), {shape})"
        head = self.storage.load(source.c_name, f"{index}({corner}, {shape})", type_).text
        entry.lines = [
            f"const int4 {p} = {use('hw_grid')}({domain});",
            *self.guard(f"{use('hw_outside')}({p}, {domain})"),
            f"const int4 {tile} = {shape} / {domain};",
            f"const int4 {corner} = {p} * {tile};",
            f"{type_.name} {value} = {head};",
            f"for (int {w} = 0; {w} < {tile}.w; ++{w})",
            f"    for (int {z} = 0; {z} < {tile}.z; ++{z})",
            f"        for (int {y} = 0; {y} < {tile}.y; ++{y})",
            f"            for (int {x} = ({y} + {z} + {w} == 0); {x} < {tile}.x; ++{x}) {{",
            f"                {self._fold(self.storage.load(source.c_name, place, type_).text, f'&{value}')}",
            "            }",
            f"{self.storage.store(result.c_name, f'{index}({p}, {domain})', type_, value)};",
        ]
        return self.finish(entry)
