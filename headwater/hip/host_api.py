"""Input: clang's error in a HIP program. Output: the error with a remedy if the host's half of HIP was called."""

from __future__ import annotations

import re

from headwater.errors import SourceError

_LAUNCH = re.compile(r"<<<|hipLaunchKernelGGL|__hipPushCallConfiguration|hipConfigureCall")
_HOST_NAME = re.compile(
    r"'((?:hip|cuda)[A-Z]\w*|(?:hip|cu)(?:blas|rand|fft|sparse)\w*|std::\w+|fprintf|malloc|free|main|cout|string|"
    r"vector|chrono|thrust)'"
)
_HOST_HEADER = re.compile(
    r"'(iostream|vector|string|chrono|random|fstream|sys/time\.h|time\.h|memory|map|functional|cassert|"
    r"assert\.h|omp\.h|thrust/[\w./]*|hipcub/[\w./]*|cub/[\w./]*|hiprand[\w./]*|hipblas[\w./]*)' file not found"
)
_KERNELS_ALONE = (
    "keep the kernels, and what they call, in a file of their own (or leave the host's part out by #ifndef "
    "__HEADWATER__): Headwater launches them, kernel[(work_items,), (group,)](arrays…)"
)


def explained(error: SourceError, source: str) -> SourceError:
    """The error, or one that says that the line is the host's, and how such a program is run here."""
    line = error.source_line or ""
    if _LAUNCH.search(line) or _LAUNCH.search(error.message):
        message = "a kernel is launched with <<<…>>>, which is the host's part of HIP"
        hint = f"{_KERNELS_ALONE}; a template is made a kernel by `template __global__ void name<float>(float *);`"
        return SourceError(message, error.span, hint=hint, source_line=line, details=error.details)
    if found := _HOST_HEADER.search(error.message):
        message = f"{found[1]} is for the host's part of a program"
        return SourceError(message, error.span, hint=_KERNELS_ALONE, source_line=line, details=error.details)
    if (found := _HOST_NAME.search(error.message)) or (found := re.search(r"\b((?:hip|cuda)[A-Z]\w*)", line)):
        message = f"{found[1]} is the host's part of HIP, or of its libraries: {error.message}"
        return SourceError(message, error.span, hint=_KERNELS_ALONE, source_line=line, details=error.details)
    return error
