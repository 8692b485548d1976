"""Embeddings, recurrent layers, attention, transformers, and containers."""

from conformance.modules import module

# -- embeddings --------------------------------------------------------------------------------------------------------
module(
    "Embedding",
    "6, 3; 6, 3, padding_idx={0|-2}, scale_grad_by_freq={False|True}; 6, 3, max_norm={0.5|2.0}, norm_type={1.0|2.0}",
    "@(classes(6, 4)); @(classes(6, 2, 3)); @(classes(6)); @(classes(6, 0)); @(classes(6, 4).int())",
    "@(6, 3, padding_idx=6); @(6, 3)(classes(6, 4) + 6); @(6, 3)(classes(6, 4) - 7); @(6, 3)(normal(3)); @(6, 3)(mask(3)); @(-1, 3); @(6, 3, _weight=normal(5, 3))",
)
module(
    "EmbeddingBag",
    "6, 3, mode='{sum|mean|max}', padding_idx={None|1}; 6, 3, max_norm=0.5; 6, 3, mode='sum', include_last_offset=True; 6, 3, scale_grad_by_freq=True, mode='mean'",
    "@(classes(6, 2, 4)); @(classes(6, 7), torch.tensor([0, 3, 3, 7])); @(input=classes(6, 7), offsets=torch.tensor([0, 2, 7]))",
    "@(6, 3)(classes(6, 7)); @(6, 3)(classes(6, 7) + 6, torch.tensor([0, 3])); @(6, 3)(classes(6, 7), torch.tensor([1, 3])); @(6, 3, mode='x')(classes(6, 2, 4)); "
    "@(6, 3, padding_idx=9); @(6, 3)(classes(6, 2, 3), torch.tensor([0])); @(6, 3, mode='mean')(classes(6, 2, 4), per_sample_weights=normal(2, 4)); @(6, 3)(normal(2, 4))",
)
module(
    "EmbeddingBag",
    "6, 3, mode='sum'",
    "@(classes(6, 2, 4), per_sample_weights=normal(2, 4)); @(classes(6, 5), torch.tensor([0, 2]), normal(5))",
)

# -- recurrent layers --------------------------------------------------------------------------------------------------
OPTIONS = "3, 4, num_layers={1|2}, bias={True|False}, batch_first={False|True}, bidirectional={False|True}"
PACKED = (
    "@(nn.utils.rnn.pack_padded_sequence(normal(5, 3, 3), torch.tensor({[5, 4, 2]|[2, 5, 3]}), enforce_sorted=False))"
)
BAD = (
    "@(3, 4)(normal(5, 3, 2)); @(3, 4)(normal(3)); @(3, 0); @(3, 4, num_layers=0); @(3, 4, dropout=2); @(3, 4, bias=1); @('a', 4); "
    "@(3, 4)(normal(2, 2, 2, 3)); @(3, 4, 1, True, True, 0.0, False, 1, 1); "
)
module(
    "RNN",
    OPTIONS + ", nonlinearity='{tanh|relu}'; 3, 4, 2, dropout=0.4",
    f"@(normal(5, 2, 3)); @(normal(5, 3)); {PACKED}",
    BAD
    + "@(3, 4, nonlinearity='x'); @(3, 4)(normal(5, 2, 3), normal(1, 3, 4)); @(3, 4)(normal(5, 3), normal(1, 2, 4))",
)
module(
    "GRU",
    OPTIONS + "; 3, 4, 2, dropout=0.4",
    f"@(normal(5, 2, 3)); @(normal(5, 3)); {PACKED}",
    BAD + "@(3, 4, proj_size=2); @(3, 4)(normal(5, 2, 3), normal(2, 2, 4))",
)
module(
    "LSTM",
    OPTIONS + ", proj_size={0|2}; 3, 4, 2, dropout=0.4",
    f"@(normal(5, 2, 3)); @(normal(5, 3)); {PACKED}",
    BAD
    + "@(3, 4, proj_size=4); @(3, 4)(normal(5, 2, 3), normal(1, 2, 4)); @(3, 4)(normal(5, 2, 3), (normal(1, 2, 4), normal(1, 2, 5)))",
)
module(
    "RNN GRU",
    "3, 4; 3, 4, 2, bidirectional=True; 3, 4, 2, batch_first=True",
    "@(normal(2, 2, 3), normal(m.num_layers * (1 + m.bidirectional), 2, 4))",
)
module(
    "LSTM",
    "3, 4; 3, 4, 2, bidirectional=True; 3, 4, 2, batch_first=True",
    "@(normal(2, 2, 3), (normal(m.num_layers * (1 + m.bidirectional), 2, 4), normal(m.num_layers * (1 + m.bidirectional), 2, 4)))",
)
BAD = "@(3, 4)(normal(2, 5)); @(3, 4)(normal(2, 2, 3)); "
module(
    "RNNCell",
    "3, 4; 3, 4, bias={True|False}, nonlinearity='{tanh|relu}'",
    "@(normal(2, 3)); @(normal(3)); @(normal(2, 3), normal(2, 4))",
    BAD
    + "@(3, 4, nonlinearity='x')(normal(2, 3)); @(3, 4)(normal(2, 3), normal(3, 4)); @(3, 4)(normal(2, 3), normal(2, 5))",
)
module(
    "GRUCell",
    "3, 4; 3, 4, bias=False",
    "@(normal(2, 3)); @(normal(3)); @(normal(2, 3), normal(2, 4)); @(normal(3), normal(4))",
    BAD + "@(3, 4)(normal(2, 3), normal(3, 4)); @(3, 4)(normal(2, 3), normal(2, 5))",
)
module(
    "LSTMCell",
    "3, 4; 3, 4, bias=False",
    "@(normal(2, 3)); @(normal(3)); @(normal(2, 3), (normal(2, 4), normal(2, 4)))",
    BAD + "@(3, 4)(normal(2, 3), (normal(3, 4), normal(3, 4))); @(3, 4)(normal(2, 3), (normal(2, 5), normal(2, 5)))",
)

# -- attention and transformers ----------------------------------------------------------------------------------------
ATTEND = "normal(5, 2, 8), normal(4, 2, 8), normal(4, 2, 8)"
module(
    "MultiheadAttention",
    "8, {1|2|4}, bias={True|False}; 8, 2, dropout=0.3; 8, 2, add_bias_kv={False|True}, add_zero_attn={False|True}",
    f"@({ATTEND}); @({ATTEND}, need_weights=False); @({ATTEND}, average_attn_weights=False); @({ATTEND}, attn_mask=mask(5, 4)); @({ATTEND}, attn_mask=normal(5, 4)); "
    f"@({ATTEND}, key_padding_mask=torch.tensor([[False] * 4, [False, False, True, True]])); @(normal(5, 8), normal(4, 8), normal(4, 8)); "
    "@(*[normal(5, 2, 8)] * 3, attn_mask=torch.ones(5, 5).triu(1).bool(), is_causal={True|False}, need_weights={True|False})",
    f"@(8, 3); @(8, 2)(*[normal(5, 2, 8)] * 3, is_causal=True); @(0, 1); @(8, 2)(normal(5, 2, 6), normal(4, 2, 6), normal(4, 2, 6)); @(8, 2)({ATTEND}, attn_mask=mask(3, 3)); @(8, 2)({ATTEND}, key_padding_mask=mask(3, 3)); "
    "@(8, 2)(normal(5, 2, 8), normal(4, 2, 8), normal(3, 2, 8)); @(8, 2)(normal(5, 2, 8), normal(4, 8), normal(4, 8))",
)
module(
    "MultiheadAttention",
    "8, 2, kdim=3, vdim=5, bias={True|False}",
    "@(normal(5, 2, 8), normal(4, 2, 3), normal(4, 2, 5))",
)
module(
    "MultiheadAttention",
    "8, 2, batch_first=True",
    "@(normal(2, 5, 8), normal(2, 4, 8), normal(2, 4, 8)); @(*[normal(2, 5, 8)] * 3); @(*[normal(2, 5, 8)] * 3, need_weights=False)",
)
LAYER = "8, 2, 16, 0.0, {'relu'|'gelu'}, batch_first={False|True}, norm_first={False|True}, bias={True|False}"
module(
    "TransformerEncoderLayer",
    LAYER + "; 8, 2, 16, dropout=0.2; 8, 2, 16, activation=nn.functional.silu",
    "@(normal(5, 2, 8)); @(normal(5, 8)); @(normal(4, 4, 8), src_mask=nn.Transformer.generate_square_subsequent_mask(4).to(normal(1).dtype)); "
    "@(normal(2, 2, 8), src_key_padding_mask=torch.tensor([[False, False], [False, True]]).to(normal(1).dtype) * -9); @(normal(3, 3, 8), torch.ones(3, 3).triu(1).bool(), is_causal=True)",
    "@(8, 3); @(8, 2, activation='x'); @(8, 2)(normal(5, 2, 7)); @(8, 2)(normal(5, 2, 8), src_mask=mask(3, 3))",
)
module(
    "TransformerDecoderLayer",
    LAYER + "; 8, 2, 16, dropout=0.2",
    "@(normal(5, 5, 8), normal(5, 5, 8)); @(normal(5, 8), normal(4, 8)); @(normal(4, 4, 8), normal(4, 4, 8), tgt_mask=torch.ones(4, 4).triu(1).bool(), memory_mask=torch.eye(4).bool())",
    "@(8, 3); @(8, 2)(normal(5, 2, 7), normal(5, 2, 8)); @(8, 2)(normal(5, 2, 8), normal(5, 3, 8))",
)
ENCODER = "nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first={False|True}, norm_first={False|True})"
module(
    "TransformerEncoder",
    ENCODER + ", {1|2}, enable_nested_tensor=False; " + ENCODER + ", 2, nn.LayerNorm(8), False",
    "@(normal(4, 4, 8)); @(normal(4, 4, 8), torch.ones(4, 4).triu(1).bool()); @(normal(4, 8)); @(normal(3, 3, 8), src_key_padding_mask=torch.tensor([[False] * 3, [False, False, True], [False] * 3]))",
    "@(nn.TransformerEncoderLayer(8, 2), 2)(normal(4, 4, 7)); @(nn.Linear(2, 2), 2)(normal(3, 2), mask=mask(3, 3))",
)
DECODER = "nn.TransformerDecoderLayer(8, 2, 16, 0.0, batch_first={False|True}, norm_first={False|True})"
module(
    "TransformerDecoder",
    DECODER + ", {1|2}; " + DECODER + ", 2, nn.LayerNorm(8)",
    "@(normal(4, 4, 8), normal(4, 4, 8)); @(normal(4, 4, 8), normal(4, 4, 8), torch.ones(4, 4).triu(1).bool()); @(normal(4, 8), normal(3, 8))",
    "@(nn.TransformerDecoderLayer(8, 2), 2)(normal(4, 4, 7), normal(4, 4, 8))",
)
module(
    "Transformer",
    "8, 2, 1, {1|2}, 16, 0.0, batch_first={False|True}, norm_first={False|True}; 8, 2, 1, 1, 16, dropout=0.1; 8, 2, 1, 1, 16, 0.0, 'gelu', bias=False",
    "@(normal(4, 4, 8), normal(4, 4, 8)); @(normal(4, 4, 8), normal(4, 4, 8), tgt_mask=@.generate_square_subsequent_mask(4).to(normal(1).dtype)); @(normal(4, 8), normal(3, 8))",
    "@(8, 3); @(8, 2, 1, 1, 16)(normal(4, 4, 7), normal(4, 4, 8)); @(8, 2, 1, 1, 16)(normal(4, 2, 8), normal(4, 3, 8))",
)

# -- containers --------------------------------------------------------------------------------------------------------
LAYERS = "nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)"
module(
    "Sequential",
    f"{LAYERS}; *[nn.Linear(3, 3), nn.Tanh()] * 2; __import__('collections').OrderedDict(first=nn.Linear(3, 2), last=nn.Sigmoid()); nn.Sequential({LAYERS}), nn.Dropout(0.3)",
    "@(normal(5, 3)); @[:-1](normal(5, 3)); (@[0](normal(5, 3)), len(@))",
    f"@(3); @({LAYERS})[9]; @({LAYERS})(normal(2, 5)); @({LAYERS})['x']",
)
module(
    "ModuleList",
    f"[{LAYERS}]; [nn.Linear(3, 3) for _ in range(12)]",
    "@[0](normal(2, 3)); @[:2][0](normal(2, 3)); [layer(normal(2, 3)) for layer in list(@)[:1]]",
    f"@(3); @([3]); @([{LAYERS}])[9]; @([{LAYERS}])(normal(2, 3)); @([{LAYERS}])['x']",
)
module(
    "ModuleDict",
    "{'a': nn.Linear(3, 4), 'b': nn.ReLU()}; [['a', nn.Linear(3, 2)]]",
    "@['a'](normal(2, 3)); [@[k](normal(2, 3)) for k in list(@.keys())[:1]]",
    "@(3); @({'a': 3}); @({'a': nn.ReLU()})['b']; @({'a.b': nn.ReLU()}); @({'a': nn.ReLU()})(normal(2, 3)); @({3: nn.ReLU()})",
)
module(
    "ParameterList",
    "[nn.Parameter(torch.ones(3)), nn.Parameter(torch.zeros(2, 3))]; [torch.ones(3), torch.ones(2)]",
    "@[0] * normal(2, 3); sum([p.sum() for p in @]) * normal(2)",
    "@(3); @([torch.ones(3)])[9]; @([torch.ones(3)])(normal(3))",
)
module(
    "ParameterDict",
    "{'a': nn.Parameter(torch.ones(3)), 'b': nn.Parameter(torch.zeros(2, 3))}; {'a': torch.ones(3)}",
    "@['a'] * normal(2, 3); sum([p.sum() for p in @.values()]) * normal(2)",
    "@(3); @({'a': torch.ones(3)})['b']; @({'a': torch.ones(3)})(normal(3)); @({3: torch.ones(3)})",
)
module("DataParallel", "nn.Linear(3, 2)", "@(normal(4, 3)); @.module(normal(4, 3))")
