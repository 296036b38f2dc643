"""Machine code: instruction tables, decoders, printers and code-object readers, one package per instruction set."""
