"""Simulated VLIW chips."""
