"""A module's text passes in; the text without what LLVM gets wrong or slow on some processor passes out."""
