"""GCN, the instruction set of AMD's GPUs from Southern Islands (gfx6) to CDNA3 (gfx942)."""
