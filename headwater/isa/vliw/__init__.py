"""AMD's VLIW machines: R600, R700, Evergreen and Cayman."""
