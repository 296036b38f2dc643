"""Tests of the examples, through the functions that their scripts call."""
