"""Input: instructions one by one. Output: the text of an LLVM function."""

from __future__ import annotations

from headwater.llvm.builder import Block, Builder
from headwater.opencl.mangle import Named, Type
from headwater.opencl.platforms import Platform


class Body(Builder[Block]):
    """A function under construction: parameters are %0, %1, …"""

    def __init__(self, symbol: str, parameters: tuple[Type, ...], result: str, platform: Platform) -> None:
        super().__init__(Block, hint="v", first=0)
        self.symbol = symbol
        self.parameters = parameters
        self.platform = platform
        self.result = result

    def give(self, value: str) -> None:
        """Return ``value`` ("" for void)."""
        self.line(f"ret {self.result} {value}" if value else "ret void")

    def text(self) -> str:
        """The finished function."""
        parameters = ", ".join(f"{self._type(what)} %{index}" for index, what in enumerate(self.parameters))
        lines = "\n".join(self.lines).replace("call spir_func ", f"call {self.platform.calling}")
        calling = self.platform.calling
        head = f"define {calling}{self.result or 'void'} @{self.symbol}({parameters}) alwaysinline nounwind"
        return f"{head} {{\n{lines}\n}}"

    def _type(self, what: Type) -> str:
        if isinstance(what, Named) and what.name.startswith("ocl_image"):
            return self.platform.image
        if what == Named("ocl_event"):
            return self.result  # of asynchronous copies, which hand on the event that they are given
        return self.platform.sampler if what == Named("ocl_sampler") else what.llvm
