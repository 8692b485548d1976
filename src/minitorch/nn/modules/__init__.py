"""Layers, losses and containers, a family a file."""
