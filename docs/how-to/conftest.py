"""What pytest makes of these pages."""

collect_ignore = ["add-an-op.md"]  # it changes the package: tests/test_add_an_op.py follows it in a copy
