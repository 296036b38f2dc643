"""Emulation of the VLIW machines' shaders: R600, R700, Evergreen and Cayman."""
