"""Input: code of an analysis. Output: its instructions' texts, with the targets of branches counted from where the code
begins."""

import re


def instructions(code):
    first = code.steps[0].address
    return [re.sub(r"\.L_([0-9a-f]+)", lambda label: f".L{int(label[1], 16) - first}", s.text) for s in code.steps]
