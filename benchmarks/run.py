"""Ratios of minitorch to its peers; lower is faster.

    python benchmarks/run.py [--quick] [--only chain] [--strict]

Peers that are not installed are left out (``pip install -e '.[bench]'`` brings them).  Contenders take turns in one process
(those of whole networks have one each), on one thread, and medians of thread CPU time are compared: absolute times mean little
on shared machines.
"""

from __future__ import annotations

import argparse
import sys

from harness import Table  # sets the number of threads, which NumPy and PyTorch read when they are imported

# isort: split
import forward
import looking
import mapping
import networks
import processes
import sections
import static_graphs
import workloads

GROUPS = {
    "operations": (workloads.operations, 41, "Single operations"),
    "in-place": (workloads.in_place_and_functions, 41, "Writes and custom functions"),
    "chain": (workloads.chain, 41, "A short chain"),
    "small-mlp": (workloads.small_mlp, 31, "Training steps"),
    "large-mlp": (workloads.large_mlp, 31, "Training steps, larger"),
    "large": (sections.elementwise, 11, "Elementwise and reductions at 1M float32"),
    "activations": (sections.activations, 21, "softmax/layer_norm/gelu 256x1024"),
    "matmul": (sections.matmuls, 21, "Matmul shapes"),
    "networks": (networks.networks, 21, "Training steps of networks"),
    "memory": (networks.memory, 3, "Memory"),
    "long-chain": (processes.long_chain, 3, "A long chain"),
    "looking": (looking.looking, 41, "Looking at the tape (ratio to not looking, and to backward)"),
    "forward": (forward.forward, 41, "Forward mode over tiny graphs"),
    "vmap": (mapping.mapping, 41, "vmap (ratio to the loop)"),
    "static": (static_graphs.graphs, 41, "Static graphs"),
    "compiled": (static_graphs.programs, 41, "Compiled programs"),
    "import": (processes.importing, 11, "Importing"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--only", choices=GROUPS, action="append", help="only this group (may be repeated)")
    parser.add_argument("--strict", action="store_true", help="exit with 1 where a limit is missed")
    options = parser.parse_args()
    table = Table()
    for name, (workload, repeats, title) in GROUPS.items():
        if not options.only or name in options.only:
            table.heading(title)
            workload(table, max(repeats // 4, 1) if options.quick else repeats)
    if table.failed:
        print("\nMissed:", *table.failed, sep="\n  ")
    return 1 if options.strict and table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
