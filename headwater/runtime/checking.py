"""What all devices say of checked launches."""

from __future__ import annotations

import os

NOT_CHECKED = (
    "kernels that rely on wavefronts in step have other results under a check on the cpu, which finds neither data "
    "races nor global and local memory that is read before it is written"
)
"""What who checks a launch there must know: docs/checks.md lists what is found where."""


def check_wanted() -> bool:
    """Whether HEADWATER_CHECK asks for bounds-checked runs."""
    return os.environ.get("HEADWATER_CHECK", "").strip().lower() not in ("", "0", "no", "off", "false")
