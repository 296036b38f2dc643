"""A CAL function's result that is not OK, as an exception; and the text of the last one."""

from __future__ import annotations

from headwater.cal.enums import CALresult
from headwater.errors import HeadwaterError


class CalError(HeadwaterError):
    """A CAL function reported ``result``; the message is what its error string says."""

    def __init__(self, result: CALresult, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.result = result

    def __str__(self) -> str:
        return f"CAL_RESULT_{self.result.name}: {super().__str__()}"


class LastError:
    """The texts that calGetErrorString and calclGetErrorString give: of the last failure, which asking leaves."""

    def __init__(self) -> None:
        self.runtime = ""
        self.compiler = ""


last_error = LastError()


def failed(result: CALresult, message: str, *, hint: str = "") -> CalError:
    """An error to raise in a function of the run-time; it becomes the last one."""
    last_error.runtime = message
    return CalError(result, message, hint=hint)


def not_compiled(message: str, *, hint: str = "", result: CALresult = CALresult.ERROR) -> CalError:
    """An error to raise in a function of the compiler; it becomes the last one."""
    last_error.compiler = message
    return CalError(result, message, hint=hint)
