"""Input: a VLIW chip's name. Output: a `VliwDevice`, which runs that chip's machine code by emulating it.

Below the devices, `load` takes an image and a chip, and `LoadedShader.run` runs it over a domain or a grid with memory
bound to IL's names, as CAL does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from headwater.chips.vliw_isas import GENERATION_OF_TARGET
from headwater.emulate.vliw.bindings import Bindings, Bound, Name, Sampler
from headwater.emulate.vliw.kernel import Kernel
from headwater.emulate.watch.hooks import is_watched, wanted
from headwater.errors import GroupSizeError, LaunchError, ResourceError, UsageError
from headwater.opencl.kernels import KernelInfo
from headwater.runtime.checking import check_wanted
from headwater.runtime.events import Event
from headwater.runtime.host.kernel import HostKernel
from headwater.runtime.interface import DeviceProgram, Queue
from headwater.runtime.shapes import Size, check_sizes, offset_of, sizes, three
from headwater.runtime.simulated.device import SimulatedDevice
from headwater.runtime.vliw.launch import Inputs, Owner, ShaderLaunch, SharedRegisters, Sizes, View

if TYPE_CHECKING:
    from headwater.chips import Chip
    from headwater.isa.vliw.image import ShaderImage

# The fetch resources that docs/vliw.md gives to memory which is not a texture.
UAV_FETCH, CONSTANT_FETCH, GLOBAL_FETCH, GLOBAL_BYTES = 128, 144, 127, 126
GLOBAL_RAT = 11
"""The RAT by which Evergreen and later write the global buffer."""
TEXT_FETCH = 2
"""The fetch resource by which LLVM's shaders read constants of the program."""
EDITED = "the changed code"
"""What messages call it."""
_WAVEFRONT = 64
_LAUNCHES = 32


def machine_of(image: ShaderImage) -> Kernel:
    """What the emulator wants to know of an image."""
    return Kernel(
        lambda: image.shader,
        image.kind,
        image.gprs or 128,
        image.clause_temporaries,
        image.lds_bytes,
        image.scratch_bytes,
        image.byte_atomics,
        hashlib.sha256(image.target.encode() + image.code).hexdigest(),
        image.stack_entries,
        image.lines,
    )


def check_limits(image: ShaderImage, chip: Chip) -> None:
    """ResourceError if a program needs more than a chip has, whoever made it."""
    registers = chip.registers.vgprs_per_wavefront + chip.vliw.clause_temporaries - image.clause_temporaries
    for what, needed, most in (
        ("registers for a work-item", image.gprs, registers),
        ("entries of the control-flow stack", image.stack_entries, chip.vliw.stack_entries),
        ("bytes of LDS for a work-group", image.lds_bytes, chip.local_memory.work_group_bytes),
        ("work-items in a work-group", prod(image.group_size or (1,)), chip.compute.work_group_size),
    ):
        if needed > most:
            raise ResourceError(
                f"{image.name} needs {needed} {what}, {chip.name} has {most}",
                hint="headwater disasm shows what it says",
            )


def bound_views(bindings: Mapping[str, View]) -> dict[Name, View]:
    """Views by IL's names (``i0``, ``cb0``, ``o0``, ``uav0``, ``g[]``) as the resources that shaders reach them by.

    UsageError for a name that is none of these.
    """
    found: dict[Name, View] = {}
    for name, view in bindings.items():
        kind = name.rstrip("0123456789")
        number = int(name[len(kind) :] or 0)
        if kind in ("g", "g[]"):
            found |= _global(view)
        elif kind == "i":
            found["fetch", number] = view
        elif kind == "cb":
            found["constant", number] = view
            found["fetch", CONSTANT_FETCH + number] = replace(view, stride=16)
        elif kind == "o":
            found["output", number] = view
        elif kind == "uav":
            # Before Evergreen a view is the global buffer.
            found = _global(view) | found
            found["rat", number] = view
            found["fetch", UAV_FETCH + number] = view
        else:
            raise UsageError(f"{name!r} is not a resource of a shader", hint="i0, cb0, o0, uav0, g[] are")
    return found


def _global(view: View) -> dict[Name, View]:
    """The global buffer under all the names that it has on one generation or another."""
    return {
        ("global", 0): view,
        ("rat", GLOBAL_RAT): view,
        ("fetch", GLOBAL_FETCH): replace(view, stride=16),
        ("fetch", GLOBAL_BYTES): replace(view, stride=1),
    }


def kinds_of(views: Mapping[Name, View], samplers: Mapping[int, Sampler]) -> Bindings:
    """What of the views translated code depends on."""
    return Bindings({name: view.bound for name, view in views.items()}, samplers)


class LoadedShader:
    """An image on a chip, ready to be run. ``info`` names it in messages, ``filename`` the IL that it has lines of;
    ``device`` is what runs it, for launches in its queues."""

    def __init__(self, image: ShaderImage, chip: Chip, filename: str = "", device: VliwDevice | None = None) -> None:
        generation = GENERATION_OF_TARGET.get(chip.target)
        if generation != image.generation:
            raise UsageError(
                f"{image.name} is machine code for {image.target}, and {chip.name} is a {chip.target}",
                hint="compile it for this chip",
            )
        check_limits(image, chip)
        self.image = image
        self.chip = chip
        self.machine = machine_of(image)
        self.info = KernelInfo(image.name, (), image.group_size)
        self.owner = Owner(device, self.info, image.il, filename)
        self._launches: dict[tuple[str, str], ShaderLaunch] = {}

    def run(
        self,
        *,
        domain: tuple[int, int, int, int] | None = None,
        groups: Sequence[int] | None = None,
        local: Sequence[int] | None = None,
        bindings: Mapping[str, View],
        samplers: Mapping[int, Sampler] | None = None,
        queue: Queue | None = None,
        time_limit: float | None = None,
        shared: SharedRegisters | None = None,
    ) -> Event:
        """Run a pixel shader over ``domain`` (x, y, width, height), or a compute shader in ``groups`` work-groups of
        ``local`` work-items (by default what the program declares). ``shared``: registers that earlier launches have
        left something in. Without a queue it has ended on return.

        KernelFault for bad accesses and when ``time_limit`` seconds are over; UsageError for bad names.
        """
        if (domain is None) == (groups is None):
            raise LaunchError("a domain or a number of work-groups is expected")
        if domain is not None:
            shape = domain_sizes(*domain)
        else:
            assert groups is not None
            shape = grid_sizes(self.image, groups, local)
        launch = self.launch(shape, bound_views(bindings), samplers or {}, check=check_wanted())
        return launch((Inputs(bound_views(bindings), shared=shared),), queue, time_limit)

    def launch(
        self,
        shape: Sizes,
        views: Mapping[Name, View],
        samplers: Mapping[int, Sampler],
        others: Bound | None = None,
        *,
        check: bool = False,
    ) -> ShaderLaunch:
        """The launch for sizes and kinds of resources (``others``: what is not among the views); kept for the next
        time. ``check``: it ends in a KernelFault for what docs/checks.md says; not while a trace, statistics or
        simulated time is made, since a launch has one watcher."""
        bindings = replace(kinds_of(views, samplers), others=others)
        key = repr(shape), f"{bindings.key()}{' checked' if check else ''}"
        found = self._launches.get(key)
        if is_watched():
            # Without code that nobody watches: it would be compiled for nothing.
            return ShaderLaunch(self.owner, self.machine, self.chip, shape, bindings, watcher=wanted())
        if found is None:
            if len(self._launches) >= _LAUNCHES:
                self._launches.clear()
            watcher = None
            if check:
                from headwater.emulate.vliw.check import shader_checker

                watcher = shader_checker()
            found = ShaderLaunch(self.owner, self.machine, self.chip, shape, bindings, watcher=watcher)
            self._launches[key] = found
        return found


def load(image: ShaderImage, chip: Chip, filename: str = "", device: VliwDevice | None = None) -> LoadedShader:
    """An image on a chip. UsageError if it is machine code of another generation."""
    return LoadedShader(image, chip, filename, device)


def domain_sizes(x: int, y: int, width: int, height: int) -> Sizes:
    """A pixel shader's domain. Its wavefronts are rows of pixels, or of several rows where these are short."""
    across = min(_WAVEFRONT, 1 << max(width - 1, 0).bit_length())
    return Sizes((width, height, 1), (across, _WAVEFRONT // across, 1), (x, y, 0), 2)


def grid_sizes(image: ShaderImage, groups: Sequence[int], local: Sequence[int] | None) -> Sizes:
    """A compute shader's work-groups."""
    declared = image.group_size
    if declared is not None and local is not None and three(local) != tuple(declared):
        raise GroupSizeError(f"{image.name} is made for work-groups of {declared}, not {tuple(local)}")
    group = declared or (three(local) if local is not None else (_WAVEFRONT, 1, 1))
    counts = three(groups)
    x, y, z = (count * size for count, size in zip(counts, group, strict=True))
    return Sizes((x, y, z), group)


# ---- the device


class VliwDevice(SimulatedDevice):
    """A VLIW chip that is not there: its machine code is translated for this machine's processor."""

    @property
    def has_local_memory(self) -> bool:
        """Whether there are work-groups that share the LDS: from Evergreen on."""
        return self.chip.vliw.shared_local_memory

    @property
    def stream_texels(self) -> int:
        """Brook+ streams are textures before Evergreen."""
        return self.chip.vliw.stream_texels

    def edited_image(self, name: str) -> ShaderImage | None:
        """The machine code of a kernel that was changed; None if it was not."""
        if not self.edited:
            return None
        self.launched.add(name)
        from headwater.isa.vliw.image_files import read_all

        images = {image.name: image for image in read_all(self.edited, EDITED)}
        image = images.get(name)
        if image is not None and image.generation != GENERATION_OF_TARGET[self.chip.target]:
            raise UsageError(f"{EDITED} is for {image.target}, and {self.name} is a {self.chip.target}")
        return image

    def build(self, source: str, filename: str, options: str = "", only: tuple[str, ...] = ()) -> DeviceProgram:
        """Compile OpenCL C to IL and on to the chip's machine code."""
        from headwater.runtime.vliw.opencl import build

        return build(self, source, filename, options, only)

    def load(self, code: bytes, filename: str) -> DeviceProgram:
        """The kernels of an image for this chip. UsageError if it has none."""
        from headwater.isa.vliw.image_files import read_all
        from headwater.runtime.vliw.opencl import kernels

        generation = GENERATION_OF_TARGET[self.chip.target]
        images = [image for image in read_all(code, filename) if image.generation == generation]
        if not images:
            raise UsageError(
                f"{filename} has no machine code for {self.chip.target}", hint="headwater disasm says what it is for"
            )
        return DeviceProgram(self, kernels(self, images, filename))


class ShaderKernel(HostKernel):
    """A kernel in machine code of a VLIW chip; what its launches are is up to what they are given."""

    __slots__ = ()
    device: VliwDevice

    def shape(self, global_size: Size, local_size: Size | None, offset: Size) -> tuple[Sizes, tuple[int, int, int]]:
        """The sizes of a launch, and its global offset. LaunchError if it cannot be launched so."""
        whole = sizes(global_size, "global size")
        group = check_sizes(self.info, whole, local_size, self.options, self.device.max_group_size)
        start = offset_of(offset, whole)
        full = three(whole)
        local = default_group(full, self.device.max_group_size) if group is None else three(group)
        return Sizes(full, local, dimensions=len(whole)), three(start, 0)


def default_group(whole: tuple[int, int, int], limit: int) -> tuple[int, int, int]:
    """A group for a launch that names none: as many work-items of each dimension as divide it, a wavefront or a few."""
    group = [1, 1, 1]
    for axis in range(3):
        room = min(limit, 256) // prod(group)
        group[axis] = max((n for n in range(1, room + 1) if whole[axis] % n == 0), default=1)
    return group[0], group[1], group[2]


__all__ = ["LoadedShader", "ShaderKernel", "View", "VliwDevice", "load"]
