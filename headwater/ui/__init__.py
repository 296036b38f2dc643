"""Input: kernels, data and chips from a browser. Output: machine code, analyses, results and timelines for it.

`app` is the server, `workers` the processes that compute, `tasks` what they compute, `confine` what they may touch.
"""
