"""Input: what a kernel asks of the host while it runs. Output: the host's answers, and the text that it printed.

The protocol is that of ROCm's device library (``__ockl_hostcall_internal``, ``__ockl_printf_…``), by which the kernels
of HIP's compiler and of Triton print. A wavefront takes a packet from a stack of free ones, writes its lanes' eight
numbers into it, puts it on the stack of ready ones, adds 1 to a signal (the doorbell), and waits until the ready flag
in the packet's header is gone; the answer is in the first two numbers of each lane then.

Kernels set the ready flag before they write the numbers. Packets are complete if the doorbell is read, then the ready
flags, and there are as many of these as were counted there beyond the packets that were answered. Hence the host needs
no atomic operations, and never reads the stack of ready packets.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from headwater.base.arrays import Array, address, aligned_bytes
from headwater.errors import KernelFault
from headwater.opencl.printf import parse, render

PACKETS: Final = 64
"""A power of two. A wavefront keeps a packet until it is answered, so a thread of the pool needs only one."""
LANES: Final = 64
_HEADER: Final = np.dtype([("next", "<u8"), ("active", "<u8"), ("service", "<u4"), ("control", "<u4")])
_NUMBERS: Final = 8
"""Of each lane in a packet."""
_SIGNAL_AT: Final = 64
"""Of the doorbell, an ``amd_signal_t``: its value is the second of its words of 8 bytes; the third, 0, says that no
interrupt is wanted."""
_HEADERS_AT: Final = 128
_PAYLOADS_AT: Final = 4096
MEMORY_BYTES: Final = _PAYLOADS_AT + PACKETS * LANES * _NUMBERS * 8
_PRINTF: Final = 2
"""The service; 1 calls functions of the host, 3 allocates memory, 4 reports of sanitizers."""
_SECONDS: Final = 0.0005
"""Between two looks at the doorbell."""
_BEGIN, _END = 1, 2
_LENGTH_SHIFT, _LENGTH_MASK, _ID_SHIFT = 5, 7, 8
"""Of a message's descriptor, the first number of a lane: whether it begins and ends here, how many numbers follow, and
the message's number, which the host gives."""
MOST_BYTES: Final = 1 << 24
"""Of a launch's messages, which are printed when it has ended."""
_MESSAGE_BYTES: Final = 64
"""What a message without contents counts for."""
_CONVERSION: Final = re.compile(
    r"%(?:[-+ #0]*)(?:\d{1,4}|\*)?(?:\.(?:\d{1,4}|\*)?)?(?:hh|h|ll?|[zjtL])?[diouxXfFeEgGaAcspn%]"
)
_MOST_WIDE: Final = 9999
"""Characters that a width or precision among the arguments may ask for, as those in a format (`parse`)."""


class Hostcalls:
    """The memory of a launch's calls, and the thread that answers them.

    ``memory`` is what the hidden argument points to. Its first six words of 8 bytes are the addresses of the packets'
    headers and of their numbers, that of the doorbell, the stacks of free and ready packets, and the mask of a packet's
    index in an element of these stacks, whose other bits count.
    """

    def __init__(self) -> None:
        self.memory: Array = aligned_bytes(MEMORY_BYTES, 4096)
        self.memory[:] = 0
        start = address(self.memory)
        self._headers = self.memory[_HEADERS_AT : _HEADERS_AT + PACKETS * _HEADER.itemsize].view(_HEADER)
        self._numbers = self.memory[_PAYLOADS_AT:].view(np.uint64).reshape(PACKETS, LANES, _NUMBERS)
        self._doorbell = self.memory[_SIGNAL_AT + 8 : _SIGNAL_AT + 16].view(np.int64)
        # Packet 0 is the lowest; it is counted once already, since an element of 0 is the end of a stack.
        self._headers["next"][1:] = [PACKETS, *range(1, PACKETS - 1)]
        words = start + _HEADERS_AT, start + _PAYLOADS_AT, start + _SIGNAL_AT, PACKETS - 1, 0, PACKETS - 1
        self.memory[: 8 * len(words)].view(np.uint64)[:] = words
        self._messages: dict[int, list[int]] = {}
        self._last_message = 0
        self._printed: list[str] = []
        self._held = self._lost = 0  # bytes of messages; how many messages were too much
        self._refused: int | None = None
        self._answered = 0
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """The kernel is about to run."""
        self._thread = threading.Thread(target=self._serve, name="hostcalls", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """The kernel has ended."""
        self._over.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._thread = None

    def show(self) -> None:
        """Write to standard output what the kernel printed. Warns, by `RuntimeWarning`, of messages that are lost."""
        print("".join(self._printed), end="")
        self._printed.clear()
        if self._lost:
            warnings.warn(
                f"the kernel printed more than {MOST_BYTES:,} bytes: {self._lost:,} messages are lost; print from "
                "fewer work-items",
                RuntimeWarning,
                stacklevel=2,
            )

    def check(self) -> None:
        """KernelFault if the kernel asked for what is not here."""
        if self._refused is not None:
            raise KernelFault(
                f"the kernel asked the host for service {self._refused} of ROCm's, which is not emulated",
                hint="only its printf is, not memory that kernels allocate, nor calls of the host's functions",
            )

    def _serve(self) -> None:
        while not self._over.is_set():
            if not self.answer():
                self._over.wait(_SECONDS)

    def answer(self) -> bool:
        """Answer the packets that are complete, if there are any."""
        waiting = int(self._doorbell[0]) - self._answered
        if not waiting:
            return False
        ready = np.flatnonzero(self._headers["control"] & 1).tolist()
        if len(ready) != waiting:
            return False  # some are being written
        for packet in ready:
            header = self._headers[packet]
            service, active = int(header["service"]), int(header["active"])
            lanes = [lane for lane in range(LANES) if active >> lane & 1]
            if service != _PRINTF:
                self._refused = service
            for lane in lanes:
                numbers = self._numbers[packet, lane]
                answer = self._message(numbers.tolist()) if service == _PRINTF else 0
                numbers[:2] = answer, 0
            self._answered += 1
            self._headers["control"][packet] = 0
        return True

    def _message(self, numbers: Sequence[int]) -> int:
        """A part of a message; its descriptor, or if it is the last the count of characters, as printf has it.

        The numbers are the kernel's, and may be any. Parts of messages that are not kept are answered like the rest.
        """
        descriptor = numbers[0]
        number = descriptor >> _ID_SHIFT
        if descriptor & _BEGIN:
            self._last_message = number = self._last_message + 1
            self._messages[number] = []
            self._held += _MESSAGE_BYTES
        message = self._messages.get(number)
        if message is None:
            return number << _ID_SHIFT
        part = numbers[1 : 1 + (descriptor >> _LENGTH_SHIFT & _LENGTH_MASK)]
        message += part
        self._held += 8 * len(part)
        ends = bool(descriptor & _END)
        if not ends and self._held <= MOST_BYTES:
            return number << _ID_SHIFT
        del self._messages[number]
        self._held -= _MESSAGE_BYTES + 8 * len(message)
        text = formatted(message) if ends else ""
        size = len(text.encode())
        if ends and self._held + size <= MOST_BYTES:
            self._held += size
            self._printed.append(text)
        else:
            self._lost += 1
        return size if ends else number << _ID_SHIFT


def formatted(message: Sequence[int]) -> str:
    """The text of a message: which stream it is for, the format and the arguments, each a number of 8 bytes; the format
    and strings are in as many as they need, with the zero at their ends. No longer than a little over `MOST_BYTES`.

    Formats are C's, in which widths and precisions may be arguments, and ``%n`` has one; nothing is stored for it.
    """
    rest = iter(message[1:])

    def number() -> int:
        return next(rest, 0)

    def string() -> str:
        taken: list[bytes] = []
        for one in rest:
            taken.append(one.to_bytes(8, "little"))
            if b"\0" in taken[-1]:
                break
        return b"".join(taken).split(b"\0", 1)[0].decode("utf-8", "replace")

    text, position, out, length = string(), 0, [], 0
    for match in _CONVERSION.finditer(text):
        out += [text[position : match.start()], _converted(match[0], number, string)]
        position = match.end()
        length += len(out[-1])
        if length > MOST_BYTES:
            break
    return "".join([*out, text[position:]])


def _converted(conversion: str, number: Callable[[], int], string: Callable[[], str]) -> str:
    """The text of one conversion, with its arguments from ``number`` or ``string``."""

    def asked(match: re.Match[str]) -> str:
        signed = (number() & 0xFFFFFFFF ^ 1 << 31) - (1 << 31)
        if match[0] == ".*" and signed < 0:
            return ""  # as if there were none
        return match[0].replace("*", str(max(-_MOST_WIDE, min(signed, _MOST_WIDE))))

    plain = re.sub(r"\.?\*", asked, conversion.replace("L", ""))  # a long double is a double
    if plain.endswith("n"):
        number()
        return ""
    pieces = parse(plain)
    if all(isinstance(piece, str) for piece in pieces):
        return render(pieces, lambda _: 0, str)
    if plain.endswith("s"):
        return render(pieces, lambda _: 1, lambda _: string())
    return render(pieces, lambda _: number(), str)
