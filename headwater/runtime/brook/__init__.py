"""Brook+ programs on every device."""
