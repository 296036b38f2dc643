"""printf's memory of GPU code: records become the text that C would print, and nonsense in it is told."""

import struct

import numpy as np
import pytest

import headwater as hw
from headwater.errors import KernelFault
from headwater.runtime.simulated.printf_memory import lost_bytes, text


def memory(*records, size=4096, used=None):
    body = b"".join(records)
    return struct.pack("<II", len(body) if used is None else used, size) + body


def record(number, *parts):
    return struct.pack("<I", number) + b"".join(parts)


def words(*values):
    return b"".join(struct.pack("<f" if isinstance(v, float) else "<i", v) for v in values)


@pytest.mark.parametrize(
    ("entry", "parts", "printed"),
    [
        ("1:0:plain\\n", [], "plain\n"),
        ("1:2:4:4:%d\\72 %08.3f\\n", [words(-5, 2.5)], "-5: 0002.500\n"),
        ("1:1:8:%g|", [struct.pack("<d", 1e-300)], "1e-300|"),
        ("1:1:4:%v2hlf!", [struct.pack("<ee", 0.5, -2.0)], "0.500000,-2.000000!"),
        ("1:1:16:%v3d", [words(1, -2, 3, 99)], "1,-2,3"),
        ("1:1:4:%v4hhx", [bytes([1, 0x7F, 0x80, 0xFF])], "1,7f,80,ff"),
        ("1:2:8:4:%s %d", [b"hello\0\0\0", words(7)], "hello 7"),
        ("1:2:8:4:%5.2s|%u", [b"four\1\0\0\0", words(-1)], "   fo|4294967295"),
        ("1:1:8:%ld %d", [struct.pack("<q", -(2**40))], "-1099511627776 0"),
        ("1:0:a\\134nb\\t%%", [], "a\\nb\t%"),
        ("1:3:4:%d\\n", [words(5)], "5\n"),  # printf("%d\n", 5, 6, 7): C ignores arguments too many
    ],
)
def test_a_record_is_printed_as_in_c(entry, parts, printed):
    assert text(memory(record(1, *parts)), [entry]) == printed


def test_records_follow_each_other():
    entries = ["1:1:4:%d\\n", "2:0:two\\n", "nonsense", "3:x:y"]
    assert text(memory(record(1, words(4)), record(2), record(1, words(5))), entries) == "4\ntwo\n5\n"
    assert text(memory(), entries) == ""


def test_what_did_not_fit_is_counted_and_left_out():
    entries = ["1:1:4:%d\\n"]
    full = memory(record(1, words(4)), record(1, words(5)), size=20, used=1000)
    assert text(full[:20], entries) == "4\n"
    assert lost_bytes(full) == 988
    assert text(full[:16] + bytes(4), entries) == "4\n"  # the second had no room: nobody wrote there
    assert lost_bytes(memory(record(1, words(4)))) == 0


def test_records_that_make_no_sense_are_told():
    with pytest.raises(KernelFault, match="a record of format 77 at byte 16, and the program has no such format"):
        text(memory(record(1, words(4)), record(77)), ["1:1:4:%d\\n"])


def test_output_that_did_not_fit_is_told(capsys):
    word = "x" * 239  # and a zero, a format's number and an int: records of 248 bytes, 4,228 of which fit into 1 MiB
    source = f'kernel void k(global int *a) {{ int i = get_global_id(0); a[i] = printf("%s %d\\n", "{word}", i); }}'
    n = 5000
    with pytest.warns(
        RuntimeWarning, match=r"printf's memory of 1,048,576 bytes was full: records of 19\d,\d{3} bytes"
    ):
        hw.compile(source, device="vega64").k[(n,), (50,)](np.zeros(n, np.int32), device="vega64")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(set(lines)) == 4228
    assert all(line.startswith(word + " ") for line in lines)


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
def test_arguments_too_many_are_ignored(device, capfd):
    source = 'kernel void k(global int *o) { printf("%d\\n", o[0], 2); printf("end %d\\n", o[1]); }'
    hw.compile(source, device=device).k[1, None](np.array([5, 9], np.int32)).wait()
    assert capfd.readouterr().out == "5\nend 9\n"


STRINGS = r"""constant char t[2][4] = {"abc", "xyz"};
void say(constant char *s, int n) { printf("%s %d\n", s, n); }
kernel void known(int z) {
  constant char *p = "hi";
  printf("[%s] [%s]\n", p, &t[1][1]);
  say("yes", 1);
}"""


def test_strings_in_variables_and_parameters_are_printed(capfd):
    hw.compile(STRINGS, language="opencl").known[(1,), (1,)](1, device="vega64")
    assert capfd.readouterr().out == "[hi] [yz]\nyes 1\n"


def test_a_string_that_is_chosen_at_run_time_is_refused():
    unknown = 'kernel void unknown(int z) { printf("%d\\n", z); printf("<%s>\\n", z ? t[0] : t[1]); }'
    with pytest.raises(hw.SourceError, match=r'a string that printf\("<%s>\\n"\) prints is not a literal'):
        hw.compile(STRINGS + unknown, language="opencl").unknown[(1,), (1,)](1, device="vega64")
