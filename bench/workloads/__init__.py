# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the harness measures: kernels as text, the same mathematics in PyTorch, and hand-written
or vendor peers. Each states its own bytes and flops: what must move and be computed at least."""
from .attention import Attention, AttentionBackward, Cascade, LinearAttention, Paged, by_f64  # noqa: F401
from .base import KERNELS, TOLERANCE, TYPES, Workload  # noqa: F401
from .chains import Mlp, Products
from .layers import Conv, Linear, LinearResidual, LinearStats, PooledConv
from .memory import ColumnSum, Copy, GeluAdd, LayerNorm, RowSum, Softmax, Transpose
from .products import BatchedMatmul, Gemv, Matmul, ThinMatmul, ViewMatmul
from .scans import Histogram, IndexAdd, Scan
from .sparse import BlockSparse, Grouped
from .typed_products import Float8Blocks, Float8Matmul, Int8Matmul, PartsMatmul, Tf32Matmul

# M x N x K of reference products: squares, tall, wide, skinny, long sums, odd rows.
GEMM_SHAPES = ((8192, 8192, 8192), (4096, 4096, 4096), (2048, 2048, 2048), (1024, 1024, 1024), (512, 512, 512),
               (16384, 4096, 4096), (8192, 28672, 8192), (4096, 4096, 16384), (16, 8192, 8192), (64, 8192, 8192),
               (128, 8192, 8192), (256, 8192, 8192), (1000, 1000, 1000), (256, 256, 65536), (4095, 4097, 4100))

# M x K of a matrix that a vector meets: square, a layer's, long sums, odd rows.
GEMV_SHAPES = ((4096, 4096), (8192, 28672), (28672, 8192), (64, 100000), (4095, 4097))
# Few rows: of one, and of what no tensor copy brings or no unit multiplies.
THIN_SHAPES = (*((m, n, k, "bf16") for m in (1, 2) for n, k in ((4096, 4096), (8192, 28672), (28672, 8192), (4095, 4097))),
               *((m, 4095, 4097, "bf16") for m in (4, 8, 16)), *((m, 8192, 8192, "f32") for m in (1, 4, 16)),
               (64, 64, 100000, "bf16"), (16, 48, 12345, "bf16"), (64, 64, 65544, "f32"))

WORKLOADS = [
    *(w(m, n, t) for w in (Copy, GeluAdd, RowSum, ColumnSum, Transpose, Softmax, LayerNorm)
      for m, n in ((8192, 4096), (4096, 16384)) for t in ("f32", "bf16")),
    *(Matmul(m, n, k, "bf16", form) for m, n, k in GEMM_SHAPES for form in ("nn", "nt")),
    *(Matmul(m, m, m, "bf16", form) for m in (8192, 4096, 2048, 1024) for form in ("tn", "tt")),
    *(Matmul(m, m, m, "f16", form) for m in (8192, 4096, 2048, 1024) for form in ("nn", "nt")),
    *(BatchedMatmul(*shape, "bf16", form) for shape in ((64, 1024, 1024, 128), (512, 128, 128, 64), (96, 2048, 128, 2048)) for form in ("nn", "nt")),
    ViewMatmul(4096, 4096, 4096, "bf16"), ViewMatmul(4096, 4096, 4096, "bf16", sliced=True),
    Matmul(4096, 4096, 4096, "f32", "nn"),
    Matmul(4096, 4096, 4096, "f32", "nt"),
    Matmul(4096, 4096, 4096, "f32", "tn"),
    *(w(m, m, m, form) for w in (Tf32Matmul, Int8Matmul) for m in (4096, 8192) for form in ("nt", "nn")),
    *(Float8Matmul(m, m, m, fast) for m in (4096, 8192) for fast in (False, True)), *(Float8Blocks(m, m, m) for m in (4096, 8192)),
    *(PartsMatmul(4096, 4096, 4096, form, policy) for policy in ("bf16x3", "tf32x3") for form in ("nt", "nn")),
    Linear(4096, 4096, 4096), *(LinearResidual(*shape) for shape in GEMM_SHAPES[:-1]),
    LinearStats(4096, 4096, 4096), LinearStats(8192, 8192, 8192),
    Conv(32, 64, 56, 64, 3, 1), Conv(32, 256, 14, 256, 3, 1), Conv(32, 128, 28, 128, 3, 2), Conv(32, 3, 224, 64, 7, 2),
    Conv(32, 512, 7, 2048, 1, 1), PooledConv(32, 64, 56, 128), PooledConv(32, 256, 28, 256), PooledConv(64, 64, 224, 64),
    *(Gemv(m, k, t, form) for m, k in GEMV_SHAPES for t in ("bf16", "f32") for form in ("n", "t")),
    *(Gemv(1024, 1024, "bf16", form, batch=64) for form in ("n", "t")),
    *(ThinMatmul(m, n, k, t, form) for m, n, k, t in THIN_SHAPES for form in ("nn", "nt")),
    *(BlockSparse(8192, 8192, 8192, block) for block in (128, 64, 32)),
    *(Grouped(m, n, k, g, form) for m, n, k, g in ((16384, 4096, 4096, 8), (16384, 2048, 4096, 64), (2048, 2048, 4096, 64)) for form in ("nn", "nt")),
    Attention(2, 16, 16, 2048, 128, False),
    Attention(2, 16, 16, 2048, 128, True),
    *(Attention(16384 // s, 2048 // d, 2048 // d, s, d, causal) for d, s in ((128, 1024), (128, 4096), (64, 4096)) for causal in (False, True)),
    *(Scan(kernel, 4096, 32768) for kernel in ("cumsum", "reverse", "masked")), Scan("prefix", 1 << 26), Scan("prefix_i32", 1 << 26),
    Histogram(1 << 26), IndexAdd("embedding_gradient", 16384, 4096, 128256), IndexAdd("index_add", 16384, 4096, 32768),
    IndexAdd("index_add_any", 16384, 4096, 32768),
    LinearAttention(64, 4096, 64), LinearAttention(64, 4096, 128), Mlp(16384, 512, 2048, 128), Mlp(65536, 1024, 1024, 256),
    *(Mlp(m, 4096, 11008, 4096) for m in (16, 64)),
    Products("gated", 4096, 4096, 11008), Products("qkv", 4096, 4096, 4096), Products("lora", 4096, 4096, 4096, 64),
    *(Products("gqa", m, 4096, 4096, 1024) for m in (1, 16, 64, 128, 512, 1024, 4096)),
    Products("lora", 4096, 4096, 4096, 16), Products("mla_scores", 16, 4096, 128, 64),
    AttentionBackward(64, 4096, 128), AttentionBackward(1, 1024, 128), AttentionBackward(128, 4096, 64),
    Cascade("lce", 8192, 4096, 50257), Cascade("sinks", 4, 16, 4096, 128), Cascade("two_scores", 4, 16, 4096, 128, 64),
    Cascade("decode", 32, 8, 4, 8192, 128), *(Paged(32, 8, 4, 8192, page, 128) for page in (16, 64, 128)),
]
