"""Launches of native code over this machine's memory, which know no device: memory, arguments, threads, events."""
