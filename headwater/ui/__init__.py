"""Kernels, data and chips pass in from a browser; machine code, analyses, results and timelines pass out to it.

`app` is the server, `workers` the processes that compute, `tasks` what they compute, `confine` what they may touch.
"""
