"""Transformers: stacks of attention and small networks, each with a shortcut and a normalisation."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

from ..._modes import exporting, grad_on
from ..._tensor import Tensor
from ...ops.attention import additive_mask
from ...ops.creation import full
from .. import functional as F
from .. import init
from .activation import GELU, ReLU
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

Activation = str | Callable[[Tensor], Tensor]


def _activation(given: Activation) -> Callable[[Tensor], Tensor]:
    """An activation, which may be given by name."""
    if not isinstance(given, str):
        return given
    named: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}
    if given not in named:
        raise RuntimeError(f"activation should be relu/gelu, not {given}")
    return named[given]


def _causal_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    return full((size, size), float("-inf"), device=device, dtype=dtype).triu(1)


def _is_causal(mask: Tensor | None, hint: bool | None, size: int) -> bool:
    """The hint; without one, whether the mask is the causal one, which only makes it faster."""
    if hint is None and exporting.get():
        return False
    if hint is not None or mask is None:
        return bool(hint)
    hidden = _causal_mask(size, dtype=mask.dtype)
    return mask.shape == hidden.shape and bool((mask == hidden).all())


class _Layer(Module):
    """What layers of encoders and decoders have: the small network."""

    linear1: Linear
    linear2: Linear
    dropout: Dropout
    activation: Callable[[Tensor], Tensor]

    def _attend(
        self,
        attention: MultiheadAttention,
        dropout: Dropout,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None,
        padding: Tensor | None,
        is_causal: bool,
    ) -> Tensor:
        attended, _ = attention(
            x, memory, memory, attn_mask=mask, key_padding_mask=padding, is_causal=is_causal, need_weights=False
        )
        return dropout(attended)

    def _feed(self, x: Tensor, dropout: Dropout) -> Tensor:
        return dropout(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoderLayer(_Layer):
    """Self-attention, then two linear maps around an activation, each added to its input and normalised.

    Parameters
    ----------
    d_model, nhead : int
        The size of elements, and how many heads attend.
    dim_feedforward : int, default 2048
        The size between the linear maps.
    dropout : float, default 0.1
        Of weights and of what is added.
    activation : "relu", "gelu" or callable
        Between the linear maps.
    layer_norm_eps : float
        Of the normalisations.
    batch_first : bool, default False
        Whether inputs are (N, S, E), not (S, N, E).
    norm_first : bool, default False
        Whether the inputs of attention and maps are normalised, not the sums.
    bias : bool, default True
        Whether maps and normalisations have biases.
    device, dtype
        Of the parameters.

    Notes
    -----
    Sources: Vaswani et al., "Attention is all you need", 2017; for *norm_first*, Xiong et al., "On layer normalization in
    the Transformer architecture", 2020.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> layer(torch.randn(3, 5, 8)).shape
    torch.Size([3, 5, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, **options)
        self.linear1 = Linear(d_model, dim_feedforward, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **options)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **options)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **options)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.activation = _activation(activation)
        kinds = ((F.relu, ReLU), (F.gelu, GELU))
        known = [self.activation is function or isinstance(self.activation, kind) for function, kind in kinds]
        self.activation_relu_or_gelu = known.index(True) + 1 if any(known) else 0

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        padding = additive_mask(src_key_padding_mask, "src_key_padding_mask", src, src_mask, "src_mask")
        mask = additive_mask(src_mask, "src_mask", src)
        x = src
        if self.norm_first:
            y = self.norm1(x)
            x = x + self._attend(self.self_attn, self.dropout1, y, y, mask, padding, is_causal)
            return x + self._feed(self.norm2(x), self.dropout2)
        x = self.norm1(x + self._attend(self.self_attn, self.dropout1, x, x, mask, padding, is_causal))
        return self.norm2(x + self._feed(x, self.dropout2))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to an encoder's output, then two linear maps; parameters as for TransformerEncoderLayer.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.TransformerDecoderLayer(8, 2, 16)
    >>> layer(torch.randn(4, 3, 8), torch.randn(5, 3, 8)).shape
    torch.Size([4, 3, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, **options)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, **options)
        self.linear1 = Linear(d_model, dim_feedforward, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **options)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **options)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **options)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, **options)
        self.dropout1, self.dropout2, self.dropout3 = Dropout(dropout), Dropout(dropout), Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            y = self.norm1(x)
            x = x + self._attend(self.self_attn, self.dropout1, y, y, *own)
            x = x + self._attend(self.multihead_attn, self.dropout2, self.norm2(x), memory, *other)
            return x + self._feed(self.norm3(x), self.dropout3)
        x = self.norm1(x + self._attend(self.self_attn, self.dropout1, x, x, *own))
        x = self.norm2(x + self._attend(self.multihead_attn, self.dropout2, x, memory, *other))
        return self.norm3(x + self._feed(x, self.dropout3))


def _copies(layer: Module, number: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(number)])


class TransformerEncoder(Module):
    """Copies of an encoder layer, one after the other.

    Parameters
    ----------
    encoder_layer : TransformerEncoderLayer
        What is copied.
    num_layers : int
        How often.
    norm : Module, optional
        Applied in the end.
    enable_nested_tensor : bool, default True
        Whether, where no gradient is needed and PyTorch would work on sequences without their padding, results at
        padding are zeros.
    mask_check : bool, default True
        Whether that needs the padding to stand at the end of each sequence.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> encoder = torch.nn.TransformerEncoder(layer, 2)
    >>> encoder(torch.randn(3, 5, 8)).shape
    torch.Size([3, 5, 8])
    """

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        reason = _why_padded(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and not reason
        if enable_nested_tensor and reason:
            warnings.warn(
                f"enable_nested_tensor is True, but self.use_nested_tensor is False because encoder_layer{reason}",
                stacklevel=2,
            )

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        padding = additive_mask(src_key_padding_mask, "src_key_padding_mask", src, mask, "mask")
        mask = additive_mask(mask, "mask", src)
        first = self.layers[0]
        length = src.shape[0 if src.dim() == 2 or not first.self_attn.batch_first else 1]
        causal = _is_causal(mask, is_causal, length)
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        if padding is not None and mask is None and self._drops_padding(src):
            hidden = padding.ne(0)
            if self.mask_check:  # of the values, and no branch over them, so that a trace is of both cases
                hidden = hidden & (hidden[..., 1:] >= hidden[..., :-1]).all()
            output = output.masked_fill(hidden.unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)

    def _drops_padding(self, src: Tensor) -> bool:
        """Whether PyTorch would work on sequences without their padding, if that is at the end, and then fill in zeros."""
        if not self.use_nested_tensor or self.layers[0].training or src.dim() != 3:
            return False
        recording = grad_on() and not exporting.get()  # a file is for inference, wherever it is written
        return not (recording and any([tensor.requires_grad for tensor in (src, *self.layers[0].parameters())]))


def _why_padded(layer: Any) -> str:
    """Why results at padding are not zeros, as PyTorch says it; empty where they may be."""
    if not isinstance(layer, TransformerEncoderLayer):
        return " was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = {
        ".norm_first was True": layer.norm_first,
        ".self_attn.batch_first was not True(use batch_first for better inference performance)": not attention.batch_first,
        ".self_attn._qkv_same_embed_dim was not True": not attention._qkv_same_embed_dim,
        ".self_attn was passed bias=False": attention.in_proj_bias is None,
        ".activation_relu_or_gelu was not True": not layer.activation_relu_or_gelu,
        ".norm1.eps was not equal to encoder_layer.norm2.eps": layer.norm1.eps != layer.norm2.eps,
        ".self_attn.num_heads is odd": attention.num_heads % 2,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


class TransformerDecoder(Module):
    """Copies of a decoder layer, one after the other; parameters as for TransformerEncoder.

    Examples
    --------
    >>> import minitorch as torch
    >>> decoder = torch.nn.TransformerDecoder(torch.nn.TransformerDecoderLayer(8, 2, 16), 2)
    >>> decoder(torch.randn(4, 3, 8), torch.randn(5, 3, 8)).shape
    torch.Size([4, 3, 8])
    """

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        first = self.layers[0].self_attn
        length = tgt.shape[0 if tgt.dim() == 2 or not first.batch_first else 1]
        causal = _is_causal(tgt_mask, tgt_is_causal, length)
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """An encoder of source sequences and a decoder of target sequences that attends to its output.

    Parameters
    ----------
    d_model, nhead : int
        The size of elements, and how many heads attend.
    num_encoder_layers, num_decoder_layers : int, default 6
        How many layers both have.
    dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype
        As for TransformerEncoderLayer.
    custom_encoder, custom_decoder : Module, optional
        In place of the encoder and the decoder.

    Notes
    -----
    Source: Vaswani et al., "Attention is all you need", 2017.

    Examples
    --------
    >>> import minitorch as torch
    >>> model = torch.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    >>> mask = model.generate_square_subsequent_mask(4)
    >>> model(torch.randn(3, 5, 8), torch.randn(3, 4, 8), tgt_mask=mask).shape
    torch.Size([3, 4, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options: Any = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device,
            dtype,
        )  # fmt: skip
        of_norm: Any = {"eps": layer_norm_eps, "bias": bias, "device": device, "dtype": dtype}
        if custom_encoder is None:
            layer = TransformerEncoderLayer(*options)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, LayerNorm(d_model, **of_norm))
        self.encoder = custom_encoder
        if custom_decoder is None:
            other = TransformerDecoderLayer(*options)
            custom_decoder = TransformerDecoder(other, num_decoder_layers, LayerNorm(d_model, **of_norm))
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        """Draw new values."""
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The causal mask: minus infinity above the diagonal, zero elsewhere."""
        return _causal_mask(sz, device, dtype)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError(
                f"the batch number of src and tgt must be equal, but got {src.size(batch)} and {tgt.size(batch)}"
            )
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError(
                f"the feature number of src and tgt must be equal to d_model, {self.d_model}, but got {src.size(-1)} and "
                f"{tgt.size(-1)}"
            )
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
