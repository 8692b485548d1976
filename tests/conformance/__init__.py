"""Every core operation against PyTorch: what is called, with what, and what is compared.

``python tests/conformance/run.py`` runs all samples and prints how many operations conform; ``test_conformance.py`` runs a
few of each in plain pytest.  See docs/design/10-conformance.md.
"""
