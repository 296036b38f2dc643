"""One work-item's LLVM IR in, a function that runs a chunk of work-items at once out: the cpu device's vectoriser."""
