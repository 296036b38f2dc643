"""Compile `kernels.py` with Triton, and write the code objects and their descriptions to ``objects/``; likewise the
kernel of the example.

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


def compiled(source, kernels, folder):
    """Compile the kernels of a file: name -> signature, constants, wavefronts, processors."""
    text = source.read_text(encoding="utf-8")
    linecache.cache[source.name] = len(text), None, text.splitlines(keepends=True), source.name
    module = {"__name__": source.stem}
    exec(compile(text, source.name, "exec"), module)
    for name, (signature, constants, wavefronts, targets) in (kernels or module["KERNELS"]).items():
        for target in targets:
            values = {(list(signature).index(key),): value for key, value in constants.items()}
            options = {"num_warps": wavefronts, "enable_fp_fusion": True, "debug": name == "dump"}
            parts = ASTSource(module[name], signature, values)
            made = triton.compile(parts, target=GPUTarget("hip", target, 64), options=options)
            (folder / f"{name}.{target}.hsaco").write_bytes(without_folders(made.asm["hsaco"]))
            fields = made.metadata._asdict() | {"triton_version": triton.__version__}
            described = json.dumps({key: fields[key] for key in KEPT if key in fields}, indent=1)
            (folder / f"{name}.{target}.json").write_text(described + "\n", encoding="utf-8")


BILATERAL = {
    "image": "*fp32", "out": "*fp32", "width": "i32", "height": "i32", "contrast": "fp32", "BLOCK": "constexpr",
    "RADIUS": "constexpr",
}  # fmt: skip


def main():
    compiled(HERE / "kernels.py", None, HERE / "objects")
    examples = HERE.parents[1] / "examples" / "triton"
    compiled(
        examples / "bilateral.py", {"bilateral": (BILATERAL, {"BLOCK": 256, "RADIUS": 3}, 4, ("gfx90a",))}, examples
    )


if __name__ == "__main__":
    main()
