"""Compile `kernels.py` with Triton, and write the code objects and their descriptions to ``objects/``.

    python tests/triton/make_objects.py

The code's debug information names files without this machine's folders.
"""

import json
import linecache
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HERE = Path(__file__).parent
KEPT = (
    "name", "num_warps", "warp_size", "shared", "global_scratch_size", "global_scratch_align", "profile_scratch_size",
    "triton_version",
)  # fmt: skip


def without_folders(code):
    """The code object with Triton's own folder in debug information as a relative one, of the same length."""
    folder = str(Path(triton.__file__).parent).encode()
    return code.replace(folder, b"." + b"triton".rjust(len(folder) - 1, b"/"))


def main():
    text = (HERE / "kernels.py").read_text(encoding="utf-8")
    linecache.cache["kernels.py"] = len(text), None, text.splitlines(keepends=True), "kernels.py"
    module = {"__name__": "kernels"}
    exec(compile(text, "kernels.py", "exec"), module)
    for name, (signature, constants, wavefronts, targets) in module["KERNELS"].items():
        for target in targets:
            source = ASTSource(module[name], signature, {(list(signature).index(k),): v for k, v in constants.items()})
            options = {"num_warps": wavefronts, "enable_fp_fusion": True}
            made = triton.compile(source, target=GPUTarget("hip", target, 64), options=options)
            stem = HERE / "objects" / f"{name}.{target}"
            stem.with_name(f"{stem.name}.hsaco").write_bytes(without_folders(made.asm["hsaco"]))
            fields = made.metadata._asdict() | {"triton_version": triton.__version__}
            described = json.dumps({key: fields[key] for key in KEPT if key in fields}, indent=1)
            stem.with_name(f"{stem.name}.json").write_text(described + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
