"""Settings of the whole suite."""

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("people", deadline=None)  # a first call compiles its operation
settings.load_profile("ci" if os.environ.get("CI") else "people")
