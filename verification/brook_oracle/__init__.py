"""Input: a checkout of AMD's Brook+ 1.4.1. Output: a table that says, kernel by kernel, whether Headwater gives its CPU
run-time's answers.
"""
