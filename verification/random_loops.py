"""The loops at the end of a random kernel (`verification.random_kernels`): over near memory, and by strides."""

from __future__ import annotations


class Loops:
    """What the generator of kernels has these from."""

    def near(self) -> list[str]:
        """Loops that all work-items run together, over near memory: rows of a chunk may run them by strips."""
        self.rng, kept = self.of_near, self.rng
        lines: list[str] = []
        for _ in range(0 if self.plain else self.number(0, 3)):
            if self.grouped and self.rng.random() < 0.7:
                value = self.expression(self.local_type, 1)
                lines += ["barrier(CLK_LOCAL_MEM_FENCE);", f"shared[lid] = {value};", "barrier(CLK_LOCAL_MEM_FENCE);"]
            counter = self.name("q")
            limit = self.pick("n", "4", "(int)(m & 7u)", *(["(int)lsz"] if self.grouped else []))
            self.counters.append(counter)
            lines += [
                f"int {counter} = {self.pick('0', '1')};",
                self.pick(
                    f"for (; {counter} < {limit}; {counter}++) {{",
                    f"for (; {counter} * {counter} < {limit}; {counter} += 2) {{",
                    f"for ({counter} = {limit}; {counter} > 0; {counter}--) {{",
                ),
                *("  " + line for _ in range(self.number(1, 5)) for line in self.near_step(counter)),
                "}",
            ]  # the counter stays: what loops leave is used, too
        self.rng = kept
        return lines

    def near_step(self, counter: str) -> list[str]:
        """One statement of such a loop. Some have operands or conditions that keep the loop from being parted."""
        target, ty = self.rng.choice(list(self.variables.items()))
        operands = [*(["lid"] if self.grouped else []), counter, f"TABLE[{counter} & 15]", f"keys[{counter}]", "(int)i"]
        value = self.convert(ty, "int", f"(int)({self.rng.choice(operands)})")
        kind = self.rng.random()
        if self.grouped and kind < 0.4:
            place = self.pick(f"(uint){counter} % lsz", f"(lid + (uint){counter}) % lsz", "lid")
            value = self.convert(ty, self.local_type, f"shared[{place}]")
        elif kind < 0.5:
            value = self.convert(ty, self.array_type, f"array[{self.pick(counter, 'i')} & 7]")
        elif kind < 0.65:
            name, own = self.rng.choice(list(self.variables.items()))
            value = self.convert(ty, own, name)
        elif kind < 0.75:
            value = self.expression(ty, 1)
        change = f"{target} = {self.arithmetic(ty, self.pick('+', '-', '*'), target, value)};"
        if self.rng.random() < 0.2:
            change = f"if ({self.pick(f'{counter} & 1', 'i & 1', 'm > 12u', self.condition(1))}) {change}"
        if self.rng.random() < 0.1:
            return [change, f"array[{self.pick(counter, 'i', 'n')} & 7] = {self.convert(self.array_type, ty, target)};"]
        return [change]

    def striding(self) -> list[str]:
        """Loops whose work-items stride through an array together, by counters of 32 bits; some wrap around."""
        self.rng, kept = self.of_striding, self.rng
        lines: list[str] = []
        for _ in range(0 if self.plain else self.number(0, 2)):
            counter, ty = self.name("q"), self.pick("int", "uint")
            starts = ["i", "get_global_id(0)", "2 * get_global_id(0)", "(uint)get_global_id(0) * 3u"]
            steps = ["get_global_size(0)", "total", "m + 1u", "7", "2 * get_global_size(0)"]
            if self.grouped:
                starts += ["lid", "get_local_id(0)", "get_group_id(0) * get_local_size(0) + get_local_id(0)"]
                steps += ["lsz", "get_local_size(0)", "get_local_size(0) * get_num_groups(0)"]
            start, step, limit = (
                self.pick(*starts),
                self.pick(*steps),
                self.pick("total", "m * 8u", "500", "n", "TABLE[3]"),
            )
            index = counter
            if self.rng.random() < 0.1:
                ty, start, step, limit = "uint", "i", "0x60000001u", "0xd0000000u"
                index = f"({counter} & 511u)"
            order = self.pick("<", "<", "<=")
            self.counters.append(index)
            lines += [
                f"for ({ty} {counter} = {start}; {counter} {order} ({ty})({limit}); {counter} += {step}) {{",
                *("  " + line for _ in range(self.number(1, 3)) for line in self.strided_step(index)),
                "}",
            ]
            self.counters.remove(index)
        self.rng = kept
        return lines

    def strided_step(self, index: str) -> list[str]:
        """One statement of such a loop, whose ``index`` is below 513."""
        if self.rng.random() < 0.3:
            return self.near_step(index)
        target, ty = self.rng.choice(list(self.variables.items()))
        place = self.pick(
            index, f"{index} + {self.number(1, 9)}", f"{index} + m", f"2 * {index} + 1", f"{index} * (m & 1u)"
        )
        if self.rng.random() < 0.5:
            value = self.convert(ty, "int", f"keys[{place}]")
        else:
            value = self.convert(ty, self.read, f"in[{place}]")
        change = f"{target} = {self.arithmetic(ty, self.pick('+', '-', '*'), target, value)};"
        if self.rng.random() < 0.2:
            change = f"if ({self.pick(f'{index} & 1', 'i & 1', 'm > 12u', self.condition(1))}) {change}"
        if self.rng.random() < 0.1:
            return [change, f"if ({self.condition(1)}) {self.pick('break', 'continue')};"]
        return [change]
