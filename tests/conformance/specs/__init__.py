"""The operations' declarations, a group a file."""
