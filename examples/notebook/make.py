"""Writes kernels.ipynb: the cells below, run, with what a notebook shows of their results. Jupyter is not needed.

python examples/notebook/make.py
"""

import ast
import contextlib
import io
import json
from pathlib import Path

CELLS = (
    """# Kernels, analyses and simulations in a notebook
Each object shows itself: kernels their arguments, reports what they found, streams their values.""",
    '''import numpy as np

import headwater as hw

program = hw.compile(
    """
__kernel void blur(__global const float *x, __global float *y, int width)
{
    int column = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (int k = -2; k <= 2; k++)
        sum += x[row * width + clamp(column + k, 0, width - 1)];
    y[row * width + column] = sum / 5;
}
""",
    language="opencl",
)
program.blur''',
    """What does the code say, before anything is run? Two chips, seven years apart:""",
    """program.blur.report(["hd4870", "vega64"], size=(512, 256), group=(64, 4), arguments={"width": 512})""",
    """The same as a page, whose buttons choose the chip:""",
    """program.blur.report(["hd4870", "vega64"], size=(512, 256), group=(64, 4), arguments={"width": 512}).widget()""",
    """Now run it on a simulated Vega 64, and see what the time went into and what would help:""",
    """x = np.random.default_rng(1).random((256, 512), np.float32)
y = np.zeros_like(x)
program.blur[(512, 256), (64, 4)].simulate(x, y, 512, device="vega64", gains=True)""",
    """The arrays hold the kernel's results. Streams stay on a device; here it is this machine's processor:""",
    """a, b = hw.stream(x, device="cpu"), hw.stream(np.zeros_like(x), device="cpu")
program.blur[(512, 256), None](a, b, 512, device="cpu")
print("the same on both:", np.allclose(b.read(), y))
b""",
    """And one step after the other: the lanes that execute, when the last work-items of a row are clamped.""",
    """from headwater.step import Session

with Session(lambda: program.blur[(512, 256), (64, 4)](x, y, 512, device="vega64")) as session:
    stepper = session.stepper
    stepper.step_line(2)
    print(stepper.place.text, "  line", stepper.place.line)
    print(f"{stepper.register('exec'):#018x}")
    session.leave()""",
)
"""Texts, and Python, whose last expression is what a cell shows."""


def is_code(cell):
    """Whether a cell is Python."""
    try:
        ast.parse(cell)
    except SyntaxError:
        return False
    return not cell.startswith("#")


def run(cell, names):
    """Run a cell; its outputs as the notebook format has them."""
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    outputs = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(True)}
        if hasattr(value, "_repr_html_"):
            data = {"text/html": value._repr_html_().splitlines(True), **data}
        outputs.append({"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    return outputs


def notebook():
    """The notebook, its cells run one after the other."""
    names, cells = {}, []
    for number, cell in enumerate(CELLS):
        made = {"cell_type": "markdown", "id": f"cell{number}", "metadata": {}, "source": cell.splitlines(True)}
        if is_code(cell):
            count = sum(map(is_code, CELLS[: number + 1]))
            outputs = run(cell, names)
            for output in outputs:
                if "execution_count" in output:
                    output["execution_count"] = count
            made |= {"cell_type": "code", "execution_count": count, "outputs": outputs}
        cells.append(made)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def main():
    file = Path(__file__).with_name("kernels.ipynb")
    file.write_text(json.dumps(notebook(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {file}")


if __name__ == "__main__":
    main()
