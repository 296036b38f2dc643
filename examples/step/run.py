"""Steps through a kernel whose work-items leave a loop one after the other, and shows the lanes that are left.

python examples/step/run.py --device hd5870
"""

import argparse
from pathlib import Path

import numpy as np

import headwater as hw
from headwater.step import Session

LINE = 8
"""Of the loop's body."""


def steps_of(number):
    """The same on the host."""
    count = 0
    while number != 1:
        number, count = (3 * number + 1 if number % 2 else number // 2), count + 1
    return count


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="vega64", help="a simulated chip")
    args = parser.parse_args(words)
    program = hw.compile(Path(__file__).with_name("collatz.cl"))
    numbers = np.arange(1, 65, dtype=np.uint32)
    steps = np.zeros(64, np.uint32)
    with Session(lambda: program.collatz[(64,), (64,)](numbers, steps, device=args.device)) as session:
        stepper = session.stepper
        print(f"{stepper.machine.kernel} on {stepper.machine.device}, {len(stepper.machine.code)} instructions")
        stepper.add_breakpoint(str(LINE))
        masks = []
        while stepper.resume().reason == "breakpoint":
            masks.append(stepper.register("exec"))
        for turn in range(0, len(masks), 10):
            lanes = "".join("#" if masks[turn] >> lane & 1 else "." for lane in range(64))
            print(f"{turn:>4} {lanes}")
        found = stepper.read("steps")
        print(f"{stepper.position:,} instructions; the longest way is that of {numbers[found.argmax()]}: {found.max()}")
        stepper.back()
        stepper.back_instruction()
        lane = stepper.register("exec").bit_length() - 1
        print(f"back to instruction {stepper.position:,}: lane {lane} is among the last, before {stepper.place.text}")
        session.finish()
    assert steps.tolist() == [steps_of(int(number)) for number in numbers]
    return masks


if __name__ == "__main__":
    main()
