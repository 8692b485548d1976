"""Activations, and distances."""

from conformance.modules import module

CALLS = "@(normal(4, 5) * 3); @(normal()); @(normal(2, 3, 4)); @(normal(0, 3))"
module("LogSigmoid Sigmoid Softsign Tanh Tanhshrink", "", CALLS)
module(
    "ReLU ReLU6 SELU SiLU Mish Hardsigmoid Hardswish",
    "; inplace=True",
    "@(normal(4, 5) * 3); @(normal() * 1); @(normal(0, 3) * 1)",
)
module("ELU CELU", "; {0.5|2.0}, {False|True}", "@(normal(4, 5) * 3); @(normal() * 1)")
module("LeakyReLU", "; {0.2|-0.1}; 0.2, True", "@(normal(4, 5) * 3); @(normal() * 1)")
module("Hardtanh", "; {-0.5|-2}, 1, inplace={False|True}", "@(normal(4, 5) * 3)", "@(2, 1)")
module("Threshold", "{0.1|-1}, {0.5|20}, {False|True}", "@(normal(4, 5) * 3)")
module("RReLU", "; 0.1, 0.4, inplace={False|True}; 0.3, 0.3", "@(normal(4, 5) * 3)", "@(0.5, 0.1)(normal(3))")
module("GELU", "{'none'|'tanh'}", CALLS, "@('x')(normal(3))")
module("GLU", "; 0; -2", "@(normal(4, 6)); @(normal(2, 4, 2))", "@()(normal(3)); @(5)(normal(4))")
module("Hardshrink Softshrink", "; {0.1|1.0|0}", CALLS, "@(-1)(normal(3))")
module("Softplus", "; {0.5|2}, {20|1}", CALLS)
module("PReLU", "; 3, 0.1; 3, init=0", "@(normal(4, 3)); @(normal(2, 3, 4))", "@(3)(normal(4, 5))")
module(
    "Softmax LogSoftmax Softmin",
    "{0|1|-1|None}",
    "@(normal(4, 5) * 3); @(normal(2, 3, 4)); @(normal(3, 4)[:0])",
    "@(5)(normal(3))",
)
module("Softmax2d", "", "@(normal(2, 3, 4, 5)); @(normal(3, 4, 5))", "@()(normal(3, 4))")

module(
    "CosineSimilarity",
    "; dim={0|1}, eps=1e-6",
    "@(normal(4, 5), normal(4, 5)); @(normal(4, 5), normal(1, 5))",
    "@()(normal(4, 5), normal(4, 6))",
)
module(
    "PairwiseDistance",
    "; {1|2|3.0|float('inf')}, eps=1e-3, keepdim={False|True}",
    "@(normal(4, 5), normal(4, 5)); @(normal(5), normal(5))",
    "@()(normal(4, 5), normal(4, 6))",
)
