"""Headwater's side: a case's OpenCL C goes through the public interface to the cpu device."""

from __future__ import annotations

from collections.abc import Mapping

from suite.case import Case, Data, Local as LocalBytes

from .peer import Missing, Run


class HeadwaterCpu:
    name = "Headwater"

    def describe(self) -> str:
        try:
            import headwater as hw

            device = hw.device("cpu")
        except ImportError as error:
            raise Missing(f"headwater cannot be imported: {error}") from error
        return f"Headwater {hw.__version__}, device {device.name}"

    def versions(self, case: Case, data: Data) -> Mapping[str, Run]:
        import headwater as hw

        device = hw.device("cpu")
        program = hw.compile(case.source, options=case.options, device=device)
        calls = []
        for launch in case.launches(data):
            args = [
                data[a] if isinstance(a, str) else hw.Local(a.nbytes) if isinstance(a, LocalBytes) else a
                for a in launch.args
            ]
            calls.append((getattr(program, launch.kernel)[launch.global_size, launch.local_size], args))

        def run() -> None:
            for kernel, args in calls:
                event = kernel(*args, device=device)
            event.wait()

        return {"cpu": run}


PEER = HeadwaterCpu
