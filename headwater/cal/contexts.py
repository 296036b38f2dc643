"""Contexts: memory handles, bindings, launches, copies and events (cal.h's calCtx… and calMemCopy)."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from headwater.cal.boards import DeviceStorage, Launch, Loaded
from headwater.cal.compiler import compile_program
from headwater.cal.counters import Counter, counted
from headwater.cal.enums import CALformat, CALresallocflags, CALresult
from headwater.cal.errors import failed
from headwater.cal.interpolated import interpolated, planes
from headwater.cal.memory import owner
from headwater.cal.state import (
    Context,
    Device,
    Function,
    Mem,
    Module,
    Name,
    Resource,
    guarded,
    lock,
    outcome,
    session,
    whole,
)
from headwater.cal.structs import CALdomain, CALdomain3D, CALdomainparam, CALprogramGrid, CALprogramGridArray
from headwater.il.parser import parse
from headwater.il.printer import text

POLL_SECONDS = 2e-4
"""How long `calCtxIsEventDone` gives a device: programs poll it in a loop, which would keep Python's lock."""
CONSTANT_BYTES = 16
"""AMD, CAL Programming Guide: constant buffers have elements of 128 bits."""


@guarded
def calCtxCreate(dev: int) -> int:
    """A context of a device. Its work is done in order; a context is one thread's."""
    device = session().get(dev, Device, "device")
    made = session().add(lambda handle: Context(handle, device))
    device.contexts.add(made.handle)
    return made.handle


def calCtxDestroy(ctx: int) -> None:
    """Wait for a context's work, unload its modules, release its memory handles."""
    context = owner(ctx)
    context.finish()
    context.worker.shutdown()
    with lock:
        current = session()
        for handle in list(context.mems):
            _release(current.get(handle, Mem, "memory"))
        for handle in list(context.modules):
            unload(current.get(handle, Module, "module"))
        for found in [one for one in current.objects.values() if isinstance(one, Counter) and one.context is context]:
            current.drop(found.handle)
        context.device.contexts.discard(ctx)
        current.drop(ctx)


@guarded
def calCtxGetMem(ctx: int, res: int) -> int:
    """A memory handle of a resource; CAL_RESULT_ERROR if the resource is of other devices."""
    context = owner(ctx)
    resource = session().get(res, Resource, "resource")
    if context.device not in resource.devices:
        raise failed(CALresult.ERROR, "the resource is another device's: contexts see their own device's memory")
    made = session().add(lambda handle: Mem(handle, context, resource))
    context.mems.add(made.handle)
    resource.mems.add(made.handle)
    return made.handle


def calCtxReleaseMem(ctx: int, mem: int) -> None:
    """Give a memory handle back, after the work that uses it; names that it is bound to lose it."""
    context = owner(ctx)
    found = _mem(context, mem)
    context.finish()
    _release(found)


@guarded
def calCtxSetMem(ctx: int, name: int, mem: int) -> None:
    """Bind memory to a module's name; 0 takes it away.

    CAL_RESULT_BAD_NAME_TYPE if that memory cannot be what the name is: a constant buffer of one dimension and 128-bit
    elements, a global buffer that was allocated as one.
    """
    context = owner(ctx)
    found = session().get(name, Name, "name")
    if found.module.context is not context:
        raise failed(CALresult.BAD_HANDLE, f"the name {found.text} is another context's")
    if not mem:
        found.mem = None
        return
    memory = _mem(context, mem)
    reason = _mismatch(found.text, memory.resource)
    if reason:
        raise failed(CALresult.BAD_NAME_TYPE, reason)
    found.mem = memory


def _mismatch(name: str, resource: Resource) -> str:
    """Why memory cannot be bound to a name; "" if it can."""
    if name.startswith("s"):
        return f"{name} is a sampler and takes no memory"
    if name.startswith("cb") and (resource.dimensions != 1 or resource.layout.nbytes != CONSTANT_BYTES):
        return f"{name} is a constant buffer: one dimension, elements of 128 bits, not {resource.format.name}"
    if name == "g[]" and not resource.flags & CALresallocflags.GLOBAL_BUFFER:
        return "g[] takes a resource that was allocated with CAL_RESALLOC_GLOBAL_BUFFER"
    return ""


# -- launches ----------------------------------------------------------------------------------------------------------


@guarded
def calCtxRunProgram(ctx: int, func: int, domain: CALdomain) -> int:
    """Launch a pixel program over a domain; the event. CAL_RESULT_ERROR if a name has no memory, or mapped memory."""
    context, module, launch = _over(ctx, func, domain)
    return _enqueue(context, module.loaded, launch)


def calCtxRunProgramParams(ctx: int, func: int, domain: CALdomain, params: CALdomainparam) -> int:
    """As `calCtxRunProgram`; the program's ``v0`` … ``v7`` are interpolated between three corners of the domain
    (CAL_EXT_DOMAIN_PARAMS). CAL_RESULT_NOT_SUPPORTED for programs that were not compiled from IL."""
    context, module, launch = _over(ctx, func, domain)
    if not isinstance(params, CALdomainparam):
        raise failed(CALresult.INVALID_PARAMETER, f"parameters are a CALdomainparam, not a {type(params).__name__}")
    loaded, buffer, used = _interpolating(module)
    if used:
        values = planes(params, used, domain)
        storage = context.device.board.storage(values.nbytes)
        storage.map()[: values.nbytes] = values.reshape(-1).view(np.uint8)
        storage.unmap()
        none = CALresallocflags(0)
        made = Resource(0, (context.device,), len(values), 1, 1, CALformat.FLOAT32_4, none, len(values), True, storage)
        launch = replace(launch, surfaces={**launch.surfaces, f"cb{buffer}": made})
    return _enqueue(context, loaded, launch)


def _interpolating(module: Module) -> tuple[Loaded, int, tuple[int, ...]]:
    """The module's program for launches with parameters."""
    if module.interpolating is None:
        encoding = module.encoding
        if encoding.il is None:
            raise failed(CALresult.NOT_SUPPORTED, "the program was not compiled from IL: its inputs are not known")
        program, buffer, used = interpolated(parse(encoding.il))
        made = compile_program(program, text(program), encoding.target) if used else encoding
        loaded = module.context.device.board.load(made) if used else module.loaded
        module.interpolating = loaded, buffer, used
    return module.interpolating


@guarded
def _over(ctx: int, func: int, domain: CALdomain) -> tuple[Context, Module, Launch]:
    """What a launch over a domain is, found to be possible."""
    context, module = _function(ctx, func)
    if module.loaded.is_compute:
        raise failed(CALresult.ERROR, "a compute program is launched by calCtxRunProgramGrid")
    if not isinstance(domain, CALdomain):
        raise failed(CALresult.INVALID_PARAMETER, f"the domain is a CALdomain, not a {type(domain).__name__}")
    x, y = whole(domain.x, "the domain's x"), whole(domain.y, "the domain's y")
    size = (whole(domain.width, "the domain's width", 1), whole(domain.height, "the domain's height", 1))
    surfaces = _surfaces(context, module)
    for name, resource in surfaces.items():
        if name.startswith("o") and (x + size[0] > resource.width or y + size[1] > resource.height):
            raise failed(
                CALresult.INVALID_PARAMETER,
                f"the domain ends at {x + size[0]} x {y + size[1]}, "
                f"{name} has {resource.width} x {resource.height} elements",
            )
    return context, module, Launch((x, y), size, surfaces, _samplers(module))


def calCtxRunProgramGrid(ctx: int, grid: CALprogramGrid) -> int:
    """Launch a compute program (CAL_EXT_COMPUTE_SHADER); the event.

    CAL_RESULT_INVALID_PARAMETER if the grid's block is not the work-group that the program declares.
    """
    return _run_grid(ctx, grid, {})


@guarded
def _run_grid(ctx: int, grid: CALprogramGrid, array: dict[str, Any]) -> int:
    if not isinstance(grid, CALprogramGrid):
        raise failed(CALresult.INVALID_PARAMETER, f"the grid is a CALprogramGrid, not a {type(grid).__name__}")
    context, module = _function(ctx, grid.func)
    group = module.loaded.group
    if not module.loaded.is_compute:
        raise failed(CALresult.ERROR, "a pixel program is launched by calCtxRunProgram")
    block, size = _extent(grid.gridBlock, "gridBlock"), _extent(grid.gridSize, "gridSize")
    if group is not None and block != group:
        raise failed(
            CALresult.INVALID_PARAMETER,
            f"gridBlock is {block[0]} x {block[1]} x {block[2]}; "
            f"the program declares work-groups of {group[0]} x {group[1]} x {group[2]}",
        )
    if size[1:] != (1, 1) and not context.device.board.attributes.b3dProgramGrid:
        raise failed(CALresult.NOT_SUPPORTED, "this device's grids have one dimension")
    items = tuple(b * s for b, s in zip(block, size, strict=True))
    launch = Launch((0, 0), items, _surfaces(context, module), _samplers(module), block, array)
    return _enqueue(context, module.loaded, launch)


def calCtxRunProgramGridArray(ctx: int, grids: CALprogramGridArray) -> int:
    """Launch compute programs one after the other, which find the shared registers as the last one left them; the last
    one's event."""
    if not isinstance(grids, CALprogramGridArray) or not grids.gridArray:
        raise failed(CALresult.INVALID_PARAMETER, "launches are given as a CALprogramGridArray of one or more")
    array: dict[str, Any] = {}
    return [_run_grid(ctx, grid, array) for grid in grids.gridArray][-1]


def _function(ctx: int, func: Any) -> tuple[Context, Module]:
    context = owner(ctx)
    module = session().get(func, Function, "function").module
    if module.context is not context:
        raise failed(CALresult.ERROR, "the function belongs to another context's module")
    return context, module


def _extent(size: Any, what: str) -> tuple[int, int, int]:
    if not isinstance(size, CALdomain3D):
        raise failed(CALresult.INVALID_PARAMETER, f"{what} is a CALdomain3D, not a {type(size).__name__}")
    return whole(size.width, what, 1), whole(size.height, what, 1), whole(size.depth, what, 1)


def _surfaces(context: Context, module: Module) -> dict[str, Resource]:
    """What is bound to each of a module's names."""
    bound: dict[str, Resource] = {}
    for register in module.loaded.names:
        name = session().objects.get(module.names.get(register, 0))
        if not isinstance(name, Name) or name.mem is None:
            raise failed(CALresult.ERROR, f"no memory is bound to {register}", hint="calModuleGetName and calCtxSetMem")
        bound[register] = _usable(name.mem.resource, register)
    return bound


def _usable(resource: Resource, what: str) -> Resource:
    if resource.mapped:
        raise failed(CALresult.ERROR, f"the resource of {what} is mapped", hint="calResUnmap comes before a launch")
    return resource


def _samplers(module: Module) -> dict[str, dict[int, Any]]:
    names = (session().objects.get(handle) for handle in module.names.values())
    return {name.text: dict(name.sampler) for name in names if isinstance(name, Name) and name.sampler}


def _enqueue(context: Context, loaded: Loaded, launch: Launch) -> int:
    return context.enqueue(counted(context, lambda: loaded.run(launch)))


# -- copies and events -------------------------------------------------------------------------------------------------


@guarded
def calMemCopy(ctx: int, src: int, dst: int, flags: int = 0) -> int:
    """Copy a resource to another one of the same format that is at least as large both ways; the event.

    What is mapped can be copied if it is remote, the host's own memory, as programs rely on (caldgemm).
    """
    context = owner(ctx)
    source, target = _mem(context, src).resource, _mem(context, dst).resource
    if whole(flags, "flags"):
        raise failed(CALresult.INVALID_PARAMETER, f"flags are {flags:#x}; there are none", hint="pass 0")
    if source.format != target.format:
        raise failed(CALresult.ERROR, f"the formats differ: {source.format.name} is copied to {target.format.name}")
    if target.width < source.width or target.height < source.height:
        raise failed(
            CALresult.ERROR,
            f"{source.width} x {source.height} elements do not fit {target.width} x {target.height}",
        )
    for resource, what in ((source, "the source"), (target, "the target")):
        if not resource.remote or isinstance(resource.storage, DeviceStorage):
            _usable(resource, what)
    return context.enqueue(lambda: _copy(source, target))


def _copy(source: Resource, target: Resource) -> None:
    if (
        isinstance(source.storage, DeviceStorage)
        and isinstance(target.storage, DeviceStorage)
        and (source.pitch == target.pitch and source.height == target.height)
    ):
        stream = target.storage.stream
        stream.device.copy(source.storage.stream.buffer, stream.buffer)
        return
    read, written = source.elements(source.storage.map()), target.elements(target.storage.map())
    np.copyto(written[: source.height, : source.width], read[:, : source.width])
    source.storage.unmap()
    target.storage.unmap()


def calCtxFlush(ctx: int) -> None:
    """Hand the context's work to the device."""
    owner(ctx).flush()


def calCtxIsEventDone(ctx: int, event: int) -> CALresult:
    """CAL_RESULT_OK if the event's work is done, CAL_RESULT_PENDING if not yet; also flushes.

    Raises CAL_RESULT_ERROR with the reason if it failed, CAL_RESULT_BAD_HANDLE if the context has no such event.
    """
    context = owner(ctx)
    context.flush()
    future = _future(context, event)
    concurrent.futures.wait([future], timeout=POLL_SECONDS)
    return outcome(future)


def calCtxWaitForEvents(ctx: int, events: Sequence[int], flags: int = 0) -> None:
    """Wait for events (CAL_EXT_SYNC_OBJECT). Raises CAL_RESULT_ERROR with the reason if one of them failed."""
    context = owner(ctx)
    context.flush()
    futures = [_future(context, event) for event in events]
    if whole(flags, "flags"):
        raise failed(CALresult.INVALID_PARAMETER, f"flags are {flags:#x}; there are none", hint="pass 0")
    concurrent.futures.wait(futures)
    for future in futures:
        outcome(future)


def _future(context: Context, event: Any) -> Any:
    future = context.events.get(event) if isinstance(event, int) else None
    if future is None:
        raise failed(CALresult.BAD_HANDLE, f"{event!r:.40} is no event of the context")
    return future


def _mem(context: Context, mem: Any) -> Mem:
    found = session().get(mem, Mem, "memory")
    if found.context is not context:
        raise failed(CALresult.BAD_HANDLE, "the memory handle is another context's")
    return found


@guarded
def _release(mem: Mem) -> None:
    for found in session().objects.values():
        if isinstance(found, Name) and found.mem is mem:
            found.mem = None
    mem.resource.mems.discard(mem.handle)
    mem.context.mems.discard(mem.handle)
    session().drop(mem.handle)


@guarded
def unload(module: Module) -> None:
    """Forget a module with its function and names."""
    current = session()
    for handle in (*module.names.values(), module.function, module.handle):
        current.drop(handle)
    module.context.modules.discard(module.handle)
