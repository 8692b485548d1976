"""``torch.random``: the default generator's seed and state."""

from ._random import default_generator, initial_seed, manual_seed, seed
from .ops.random import fork_rng, get_rng_state, set_rng_state

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]
