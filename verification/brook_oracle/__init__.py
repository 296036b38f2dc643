"""A checkout of AMD's Brook+ 1.4.1 goes in, a table comes out: does Headwater give its CPU run-time's answers, kernel
by kernel?
"""
