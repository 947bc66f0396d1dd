"""Transformer layers without dropout, so that their output depends on their input only."""

from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention


class Attention(nn.Module):
    """Multi-head attention of (n, q, width) queries to (n, k, width) tokens."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        if heads < 1 or width % heads:
            raise ValueError(f"width {width} is not a multiple of heads {heads}")
        self._heads = heads
        self.query, self.pair = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.leave = nn.Linear(width, width)

    def forward(self, queries: Tensor, context: Tensor) -> Tensor:
        query = self.query(queries).unflatten(2, (self._heads, -1)).transpose(1, 2)
        key, value = self.pair(context).unflatten(2, (2, self._heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        return self.leave(scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.down(gelu(self.up(hidden)))


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward layer, both with a residual connection."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.attention, self.feed = Attention(width, heads), FeedForward(width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, tokens: Tensor) -> Tensor:
        normed = self.first(tokens)
        tokens = tokens + self.attention(normed, normed)
        return tokens + self.feed(self.second(tokens))


class DecoderLayer(nn.Module):
    """Cross-attention of the queries to the memory, then an EncoderLayer on the queries."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.among = EncoderLayer(width, heads)
        self.attention, self.norm = Attention(width, heads), nn.LayerNorm(width)

    def forward(self, queries: Tensor, memory: Tensor) -> Tensor:
        queries = queries + self.attention(self.norm(queries), memory)
        return self.among(queries)
