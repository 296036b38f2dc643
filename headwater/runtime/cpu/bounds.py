"""Input: a launch's arguments. Raises LaunchError if some work-item certainly accesses memory outside an array.

What is asked, and of which work-items, is described in `headwater.vectorise.bounds.code`. The answer depends on the
bytes of arrays and on some values only; launches that are like earlier ones in these are not asked for again.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from headwater.base.arrays import describe, view
from headwater.errors import HeadwaterError, LaunchError, SourceError, span_of_bytes
from headwater.runtime import signature
from headwater.runtime.host.memory import bytes_of
from headwater.runtime.interface import Buffer
from headwater.runtime.streams import Stream
from headwater.runtime.values import Local

if TYPE_CHECKING:
    from headwater.native.pool import Task
    from headwater.opencl.kernels import AccessLine, BoundsTest
    from headwater.runtime.host.kernel import HostKernel

_REPORTED_NUMBERS = 4  # `headwater.vectorise.bounds.code.REPORTED_NUMBERS`
_TEST = "let the kernel compare its index with the number of elements"
_SHIFT = f"let the kernel leave out the first work-items (`if` or a global offset), or {_TEST}"


class ArrayBounds:
    """The question for one kernel and launch size.

    ``outside(launch block, args block, pack_sizes(0, *sizes))``, with the bytes of the arguments `BoundsTest.sized`, is
    0 where nothing is known to be outside of an array. Else `refusal` tells what is; ``access_lines`` gives the
    accesses' lines in the source (`headwater.opencl.host.HostModule.access_lines`).
    """

    def __init__(
        self,
        kernel: HostKernel,
        access_lines: Callable[[], Sequence[AccessLine]],
        test: BoundsTest,
        outside: Callable[..., int],
        launch: Sequence[int],
    ) -> None:
        self.test = test
        self.outside = outside
        self.pack_sizes = struct.Struct(f"<{1 + len(test.sized)}q").pack
        self._kernel = kernel
        self._access_lines = access_lines
        self._launch = tuple(launch)

    def refusal(self, args: Sequence[Any], task: Task, sizes: Sequence[int]) -> LaunchError:
        """What is wrong with a launch, whose arguments are packed into ``task``."""
        numbers = (ctypes.c_int64 * (1 + len(sizes) + _REPORTED_NUMBERS))(1, *sizes)
        number = self.outside(task.block_address, task.args_address, ctypes.addressof(numbers))
        offset, *item = numbers[1 + len(sizes) :]
        access = self.test.accesses[number - 1]
        position, size = access.position, access.nbytes
        where = f"at byte {offset}" if offset >= 0 else f"{_bytes(-offset)} before its beginning"
        given = self._given(args, position, access.local_bytes)
        message = (
            f"{given}; work-item ({', '.join(map(str, item[: len(self._launch)]))}) of "
            f"{self._kernel.title}, launched over {' x '.join(map(str, self._launch))} "
            f"work-item{'s' * (self._launch != (1,))}, {'writes' if access.writes else 'reads'} {_bytes(size)} {where}"
        )
        hint = self._remedy(position, offset + size) if offset >= 0 else _SHIFT
        arg = self._kernel.info.args[position]
        error = LaunchError(message, hint=hint) if position < 0 else signature.fail(arg, position + 1, message, hint)
        return self._at_line(number, error)

    def _given(self, args: Sequence[Any], position: int, local: int) -> str:
        """What was passed, and its size."""
        if position < 0:
            return f"a __local variable has {_bytes(local)}"
        value = args[position]
        if value is None:
            return "None given"
        size = _bytes(bytes_of(value))
        if isinstance(value, Local):
            return f"{size} of local memory given"
        if isinstance(value, Buffer):
            return f"a buffer of {size} given"
        if isinstance(value, Stream):
            return f"a {value.dtype} stream of shape {value.shape} given, which has {size}"
        array = view(value)[0]
        if array.dtype.names is not None:
            return f"an array of shape {array.shape} given, which has {size}"
        return f"{describe(array)} given, which has {size}"

    def _remedy(self, position: int, needed: int) -> str:
        if position < 0:
            return f"declare it with at least {_bytes(needed)}, or launch smaller work-groups"
        arg = self._kernel.info.args[position]
        if arg.kind == "local":
            return f"pass hw.Local({needed}) or more, or launch smaller work-groups"
        element = max(arg.pointee_bytes, 1)
        elements = f" ({-(-needed // element)} elements)" if element > 1 else ""
        return f"pass at least {_bytes(needed)}{elements}, or launch fewer work-items, or {_TEST}"

    def _at_line(self, number: int, error: LaunchError) -> LaunchError:
        """The same with its line of the source, if that can be found by compiling it once more."""
        with suppress(HeadwaterError, LookupError):
            found = self._access_lines()
            accesses = [(one.position, one.nbytes, one.writes) for one in found]
            if accesses != [(one.position, one.nbytes, one.writes) for one in self.test.accesses]:
                return error
            line, column = found[number - 1].line, found[number - 1].column
            from headwater.opencl import units

            file = self._kernel.source_file
            text = units.line_of(self._kernel.program_source, self._kernel.program_filename, file, line)
            if line:
                place = span_of_bytes(file, line, column, text)
                return LaunchError(str(SourceError(error.message, place, hint=error.hint, source_line=text)))
        return error


def _bytes(number: int) -> str:
    return f"{number} byte{'s' * (number != 1)}"
