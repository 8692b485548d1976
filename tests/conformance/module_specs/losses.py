"""Losses."""

from conformance.modules import module

ALL = "reduction='{mean|sum|none}'"
LEGACY = "; reduce=False; size_average=False"
WRONG = "@(reduction='x')(normal(3), normal(3)); @()(normal(2, 3), fixed(5)); "
PAIRS = "@(normal(4, 5), normal(4, 5)); @(normal(), normal()); @(normal(2, 0), normal(2, 0)); @(normal(2, 3, 2), fixed(2, 3, 2))"
module("L1Loss MSELoss", ALL + LEGACY, PAIRS, WRONG)
module("SmoothL1Loss", ALL + ", beta={1.0|0.3}; beta=0", PAIRS, WRONG + "@(beta=-1)(normal(3), normal(3))")
module(
    "HuberLoss",
    ALL + ", delta={1.0|0.3}",
    PAIRS,
    WRONG + "@(delta=0)(normal(3), normal(3)); @(delta=-1)(normal(3), normal(3))",
)
module("SoftMarginLoss", ALL + LEGACY, "@(normal(4, 5), signs(4, 5)); @(normal(), signs())", WRONG)
module("HingeEmbeddingLoss", ALL + ", margin={1.0|0.2}", "@(normal(4, 5), signs(4, 5)); @(normal(4), signs(4))", WRONG)
module(
    "KLDivLoss",
    "reduction='{mean|sum|none|batchmean}', log_target={False|True}",
    "@(normal(4, 5).log_softmax(1), normal(4, 5).softmax(1)); @(normal(4), unit(4))",
    WRONG,
)
module(
    "BCELoss",
    ALL + ", weight={None|fixed(3)}" + LEGACY,
    "@(unit(4, 3), unit(4, 3)); @(unit(3), mask(3).to(unit(1).dtype))",
    "@()(unit(4, 3), unit(4)); @()(unit(4) + 2, unit(4)); @()(unit(4), classes(2, 4)); @(reduction='x')(unit(2), unit(2)); @(fixed(7))(unit(4, 3), unit(4, 3))",
)
module(
    "BCEWithLogitsLoss",
    ALL + ", weight={None|fixed(3)}, pos_weight={None|fixed(3)}" + LEGACY,
    "@(normal(4, 3), unit(4, 3)); @(normal(3), mask(3).to(unit(1).dtype))",
    "@()(normal(4, 3), unit(4)); @()(normal(4), mask(4)); @(reduction='x')(unit(2), unit(2)); @(fixed(7))(unit(4, 3), unit(4, 3))",
)
module(
    "PoissonNLLLoss",
    ALL + ", log_input={True|False}, full={True|False}; eps=1e-3, log_input=False; reduce=False",
    "@(unit(4, 5), fixed(4, 5) * 3); @(unit(4), classes(3, 4))",
    WRONG,
)
module(
    "GaussianNLLLoss",
    ALL + ", full={True|False}, eps={1e-6|0.3}",
    "@(normal(4, 5), normal(4, 5), {unit(4, 5)|unit(4, 1)|unit(4)}); @(normal(4, 5), normal(4, 5), 0.5)",
    "@()(normal(4, 5), normal(4, 5), unit(3)); @()(normal(4), normal(4), -unit(4)); @(reduction='x')(normal(3), normal(3), unit(3))",
)

CLASSES = (
    "@(normal(6, 5), classes(5, 6)); @(normal(5), classes(5)); @(normal(2, 5, 3), classes(5, 2, 3)); "
    "@(normal(2, 5, 3, 2), classes(5, 2, 3, 2)); @(normal(0, 5), classes(5, 0))"
)
BAD_CLASSES = (
    "@()(normal(6, 5), classes(5, 6) + {9|-9}); @()(normal(6, 5), classes(5, 4)); @()(normal(6, 5), normal(6)); @()(normal(6, 5), classes(5, 6).int()); "
    "@()(normal(6, 5), classes(5, 6, 1)); @(fixed(4))(normal(6, 5), classes(5, 6)); @(reduction='x')(normal(6, 5), classes(5, 6)); "
    "@()(classes(5, 6, 5), classes(5, 6)); @()(normal(6, 5), None); @()(normal(6, 5), [1] * 6); @(weight=3)(normal(6, 5), classes(5, 6));"
)
module("NLLLoss", ALL + ", weight={None|fixed(5)}, ignore_index={-100|2}" + LEGACY, CLASSES, BAD_CLASSES)
module(
    "CrossEntropyLoss",
    ALL + ", weight={None|fixed(5)}, ignore_index={-100|2}, label_smoothing={0.0|0.2}" + LEGACY,
    CLASSES,
    BAD_CLASSES + "@(label_smoothing={1.5|-0.1})(normal(6, 5), classes(5, 6)); @()(normal(6, 5), normal(6, 4))",
)
module(
    "CrossEntropyLoss",
    ALL + ", weight={None|fixed(5)}, label_smoothing={0.0|0.2}",
    "@(normal(6, 5), normal(6, 5).softmax(1)); @(normal(2, 5, 3), unit(2, 5, 3)); @(normal(5), unit(5))",
)
module("NLLLoss2d", ALL + ", weight={None|fixed(5)}, ignore_index={-100|2}", CLASSES, BAD_CLASSES)
module(
    "LinearCrossEntropyLoss",
    "3, 5, " + ALL + ", bias={True|False}, weight={None|fixed(5)}, ignore_index={None|2}, label_smoothing={0.0|0.2}",
    "@(normal(6, 3), classes(5, 6)); @(normal(3), classes(5))",
    "@(3, 5, weight=fixed(4)); @(3, 5, label_smoothing={1.5|-0.1}); @(3, 5)(normal(6, 4), classes(5, 6)); "
    "@(3, 5)(normal(6, 2, 3), classes(5, 6, 2)); @(3, 5)(normal(6, 3), classes(5, 6) + 9); @(3, 5, out_features=(2,))(normal(3), classes(5)); "
    "@(3, 5, ignore_index=2)(normal(6, 3), unit(6, 5))",
)
module(
    "LinearCrossEntropyLoss",
    "3, 5, out_features=(2, 4), " + ALL + ", bias={True|False}, weight={None|fixed(5)}, label_smoothing={0.0|0.2}",
    "@(normal(6, 3), classes(5, 6, 2, 4)); @(normal(6, 3), unit(6, 5, 2, 4))",
)
module(
    "MultiMarginLoss",
    ALL + ", p={1|2}, margin={1.0|0.3}, weight={None|fixed(5)}",
    "@(normal(6, 5), classes(5, 6)); @(normal(5), classes(5))",
    "@(p=3); @()(normal(6, 5), classes(5, 6) + 9); @()(normal(6, 5), classes(5, 3)); @()(normal(6, 5), normal(6))",
)
module(
    "MultiLabelMarginLoss",
    ALL,
    "@(normal(3, 4), torch.tensor([[3, 0, -1, 1], [0, 1, 2, 3], [-1, 0, 0, 0]])); @(normal(4), torch.tensor([2, 0, -1, 1]))",
    "@()(normal(2, 4), classes(3, 2, 4) + 9); @()(normal(2, 4), classes(3, 2, 3)); @()(normal(2, 4), normal(2, 4))",
)
module(
    "MultiLabelSoftMarginLoss",
    ALL + ", weight={None|fixed(5)}",
    "@(normal(4, 5), mask(4, 5).to(unit(1).dtype)); @(normal(5), unit(5))",
    "@()(normal(4, 5), unit(4, 3)); @(reduction='x')(normal(4, 5), unit(4, 5))",
)
module(
    "MarginRankingLoss",
    ALL + ", margin={0.0|0.3}",
    "@(normal(4), normal(4), signs(4)); @(normal(4, 5), normal(4, 5), signs(4, 5))",
    "@()(normal(4), normal(4), signs(4, 1)); @()(normal(4), normal(3), signs(4)); @(reduction='x')(normal(4), normal(4), signs(4))",
)
module(
    "CosineEmbeddingLoss",
    ALL + ", margin={0.0|0.3}",
    "@(normal(4, 5), normal(4, 5), signs(4)); @(normal(5), normal(5), signs())",
    "@()(normal(4, 5), normal(4, 5), signs(3)); @()(normal(4, 5), normal(4, 5), signs(4, 5)); @()(normal(4, 5), normal(4, 6), signs(4))",
)
module(
    "TripletMarginLoss",
    ALL + ", margin={1.0|0.3}, p={2|1.0}, swap={False|True}; eps=0.1",
    "@(normal(4, 5), normal(4, 5), normal(4, 5)); @(normal(5), normal(5), normal(5))",
    "@()(normal(4, 5), normal(4), normal(4, 5)); @(margin=0); @(reduction='x')(normal(4), normal(4), normal(4))",
)
module(
    "TripletMarginWithDistanceLoss",
    ALL + ", margin={1.0|0.3}, swap={False|True}; distance_function=lambda a, b: 1 - torch.cosine_similarity(a, b)",
    "@(normal(4, 5), normal(4, 5), normal(4, 5)); @(normal(4, 5, 2), normal(4, 5, 2), normal(4, 5, 2))",
    "@(margin=0); @(reduction='x')(normal(4), normal(4), normal(4))",
)
CTC = "normal(7, 3, 5).log_softmax(2), classes(4, 3, 4) + 1"
module(
    "CTCLoss",
    ALL + ", zero_infinity={False|True}",
    f"@({CTC}, (7, 6, 5), (4, 2, 0)); @({CTC}, torch.tensor([7, 7, 3]), torch.tensor([3, 1, 1])); "
    "@(normal(7, 5).log_softmax(1), classes(4, 3) + 1, torch.tensor(7), torch.tensor(3)); @(normal(7, 2, 5).log_softmax(2), classes(4, 5) + 1, (7, 6), (3, 2))",
    f"@()({CTC}, (7, 6), (4, 2, 0)); @()({CTC}, (9, 6, 5), (4, 2, 0)); @()({CTC}, (7, 6, 5), (9, 2, 0))",
)
module(
    "CTCLoss",
    "blank=4, zero_infinity={False|True}",
    "@(normal(7, 3, 5).log_softmax(2), classes(4, 3, 4), (7, 6, 3), (4, 2, 4))",
    "@(blank=9)(normal(7, 3, 5), classes(4, 3, 4), (7, 7, 7), (4, 4, 4))",
)
module(
    "AdaptiveLogSoftmaxWithLoss",
    "6, 12, [{4, 8|3|2, 5, 9}], div_value={4.0|2.0}, head_bias={False|True}",
    "@(normal(5, 6), classes(12, 5)); @(normal(6), classes(12)); @.log_prob(normal(5, 6)); @.predict(normal(5, 6))",
    "@(6, 12, []); @(6, 12, [4, 4]); @(6, 12, [13]); @(6, 12, [4])(normal(5, 6), classes(12, 5) + 12); @(6, 12, [4])(normal(5, 6), classes(12, 4)); @(6, 12, [4])(normal(5), classes(12))",
)
