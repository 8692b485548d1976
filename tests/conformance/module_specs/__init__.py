"""Which options, calls and wrong calls of which modules are compared."""
