"""The numerical kernels: plain functions from NumPy arrays to fresh NumPy arrays."""
