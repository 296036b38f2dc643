"""What chips that are simulated have in common, whatever their family."""
