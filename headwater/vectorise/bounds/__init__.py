"""Whether some work-item of a launch makes an access outside of its array: the accesses, and code that tells."""
