"""Rows and their public functions, a family a file."""
