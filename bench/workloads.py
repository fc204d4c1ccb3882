# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the harness measures: kernels as text, the same mathematics in PyTorch, and hand-written
or vendor peers. Each states its own bytes and flops: what must move and be computed at least."""
import math
import os

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES, KERNELS = os.path.join(HERE, "..", "examples"), os.path.join(HERE, "kernels")


class Workload:
    kernel = ""
    file = "<bench>"
    constants = {}
    bound = "memory"
    tolerance = 1e-5
    by_row = False  # whether a result's rows differ in size
    text = None

    def source(self):
        if self.text:
            return self.text
        with open(self.file) as f:
            return f.read()

    def expected(self, *inputs):
        """In f64, by PyTorch."""
        return self.torch(*(x.double() if torch.is_tensor(x) and x.is_floating_point() else x for x in inputs))

    def peers(self, device):
        """name -> function of the inputs that returns a function without arguments."""
        return {}

    def bytes(self, *inputs):
        return sum(x.numel() * x.element_size() for x in inputs if torch.is_tensor(x)) + self.output_bytes(*inputs)

    def output_bytes(self, x, *rest):
        return x.numel() * x.element_size()

    def flops(self, *inputs):
        return 0


TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
# A bf16 result is off by up to half a unit in its last place: 2^-9 of its value.
TOLERANCE = {"f32": 2e-5, "bf16": 8e-3, "f16": 1e-3}


def rows(m, n, dtype, device, scale):
    return torch.randn(max(1, m // scale), n, device=device, dtype=torch.float32).to(TYPES[dtype])


class RowWorkload(Workload):
    kind = ""
    rounding_steps = 1

    def __init__(self, m, n, dtype):
        self.m, self.n, self.dtype = m, n, dtype
        self.name = f"{self.kind} {m}x{n} {dtype}"
        self.kernel = self.kind
        self.file = os.path.join(KERNELS, f"memory_{dtype}.kc")
        self.tolerance = TOLERANCE[dtype] * self.rounding_steps

    def inputs(self, device, scale):
        return (rows(self.m, self.n, self.dtype, device, scale),)


class Copy(RowWorkload):
    kind = "copy"

    def torch(self, x):
        return x.clone()


class GeluAdd(RowWorkload):
    kind = "gelu_add"

    def inputs(self, device, scale):
        x = rows(self.m, self.n, self.dtype, device, scale)
        return x, torch.randn(self.n, device=device).to(x.dtype), torch.randn_like(x)

    def torch(self, x, b, z):
        return F.gelu(x + b, approximate="tanh") * z

    # What eager rounds to the tensors' type on the way, kernelc keeps in f32.
    rounding_steps = 3


class RowSum(RowWorkload):
    kind = "row_sum"

    def torch(self, x):
        return x.sum(1)

    def output_bytes(self, x):
        return x.shape[0] * x.element_size()


class ColumnSum(RowWorkload):
    kind = "column_sum"

    def torch(self, x):
        return x.sum(0)

    def output_bytes(self, x):
        return x.shape[1] * x.element_size()


class Transpose(RowWorkload):
    kind = "transpose"

    def torch(self, x):
        return x.T.contiguous()


class Softmax(RowWorkload):
    kind = "softmax_rows"

    def torch(self, x):
        return torch.softmax(x, 1)

    def peers(self, device):
        if device.type != "cuda":
            return {}
        from triton_kernels import softmax
        return {"triton": softmax}


class LayerNorm(RowWorkload):
    kind = "layer_norm"
    rounding_steps = 4

    def inputs(self, device, scale):
        x = rows(self.m, self.n, self.dtype, device, scale)
        return x, torch.randn(self.n, device=device).to(x.dtype), torch.randn(self.n, device=device).to(x.dtype)

    def torch(self, x, gain, bias):
        return F.layer_norm(x, (x.shape[1],), gain, bias, 1e-5)

    def peers(self, device):
        if device.type != "cuda":
            return {}
        from triton_kernels import layer_norm
        return {"triton": layer_norm}


class Matmul(Workload):
    bound = "compute"

    def __init__(self, m, n, k, dtype, form="nn"):
        self.m, self.n, self.k, self.dtype, self.form = m, n, k, dtype, form
        self.name = f"matmul_{form} {m}x{n}x{k} {dtype}"
        a = "a: {0}[M, K]" if form[0] == "n" else "a: {0}[K, M]"
        b = "b: {0}[K, N]" if form[1] == "n" else "b: {0}[N, K]"
        ai = "a[i, k]" if form[0] == "n" else "a[k, i]"
        bi = "b[k, j]" if form[1] == "n" else "b[j, k]"
        self.text = (f"def matmul({a}, {b}) -> (c: {{0}}[M, N]) {{{{ c[i, j] = sum[k]({ai} * {bi}) }}}}").format(dtype)
        self.tolerance = {"f32": 1e-4, "bf16": 1e-2, "f16": 2e-3}[dtype]

    def inputs(self, device, scale):
        m, n, k = max(16, self.m // scale), max(16, self.n // scale), max(16, self.k // scale)
        a = torch.randn((m, k) if self.form[0] == "n" else (k, m), device=device).to(TYPES[self.dtype])
        b = torch.randn((k, n) if self.form[1] == "n" else (n, k), device=device).to(TYPES[self.dtype])
        return a, b

    def torch(self, a, b):
        return (a if self.form[0] == "n" else a.T) @ (b if self.form[1] == "n" else b.T)

    def dims(self, a, b):
        m, k = a.shape if self.form[0] == "n" else reversed(a.shape)
        return m, b.shape[1] if self.form[1] == "n" else b.shape[0], k

    def flops(self, a, b):
        m, n, k = self.dims(a, b)
        return 2 * m * n * k

    def output_bytes(self, a, b):
        m, n, _ = self.dims(a, b)
        return m * n * a.element_size()

    def peers(self, device):
        # torch.mm with `out` is cuBLAS and nothing else.
        def cublas(a, b):
            x, y = (a if self.form[0] == "n" else a.T), (b if self.form[1] == "n" else b.T)
            out = torch.empty(x.shape[0], y.shape[1], device=x.device, dtype=x.dtype)
            return lambda: torch.mm(x, y, out=out)
        found = {"cuBLAS": cublas} if device.type == "cuda" else {}
        if device.type == "cuda" and self.form in ("nn", "nt") and self.dtype in ("bf16", "f16"):
            import triton_matmul
            found["triton"] = lambda a, b: triton_matmul.best(self.form)(a, b)
        return found


class BatchedMatmul(Matmul):
    """Products side by side, one for each number of the batch."""

    def __init__(self, batch, m, n, k, dtype, form="nn"):
        super().__init__(m, n, k, dtype, form)
        self.batch = batch
        self.name = f"bmm_{form} {batch}x{m}x{n}x{k} {dtype}"
        for letter in "MNK":  # of tensors' shapes
            self.text = self.text.replace(f"[{letter}", f"[B, {letter}")
        for operand in ("c[", "a[", "b["):  # of elements
            self.text = self.text.replace(operand, operand + "n, ")

    def inputs(self, device, scale):
        batch = max(2, self.batch // scale)
        a, b = super().inputs(device, scale)
        return torch.randn(batch, *a.shape, device=device).to(a.dtype), torch.randn(batch, *b.shape, device=device).to(b.dtype)

    def torch(self, a, b):
        return (a if self.form[0] == "n" else a.mT) @ (b if self.form[1] == "n" else b.mT)

    def flops(self, a, b):
        return a.shape[0] * super().flops(a[0], b[0])

    def output_bytes(self, a, b):
        return a.shape[0] * super().output_bytes(a[0], b[0])

    def peers(self, device):
        def cublas(a, b):
            x, y = (a if self.form[0] == "n" else a.mT), (b if self.form[1] == "n" else b.mT)
            out = torch.empty(x.shape[0], x.shape[1], y.shape[2], device=x.device, dtype=x.dtype)
            return lambda: torch.bmm(x, y, out=out)
        return {"cuBLAS": cublas} if device.type == "cuda" else {}


class Gemv(Matmul):
    """A matrix and a vector, in batches or alone: as long as the matrix takes to read. Forms: n, rows along the sum; t, columns."""
    bound = "memory"

    def __init__(self, m, k, dtype, form="n", batch=0):
        super().__init__(m, 1, k, dtype, form + "n")
        self.batch, self.form = batch, form
        self.name = f"gemv_{form} {f'{batch}x' if batch else ''}{m}x{k} {dtype}"
        b, bi = ("B, ", "b, ") if batch else ("", "")
        a, ai = ("M, K", "i, k") if form == "n" else ("K, M", "k, i")
        self.text = (f"def matmul(a: {dtype}[{b}{a}], x: {dtype}[{b}K]) -> (y: {dtype}[{b}M]) "
                     f"{{ y[{bi}i] = sum[k](a[{bi}{ai}] * x[{bi}k]) }}")

    def inputs(self, device, scale):
        m, k = max(16, self.m // scale), max(16, self.k // scale)
        outer = (self.batch,) if self.batch else ()
        a = torch.randn(*outer, *((m, k) if self.form == "n" else (k, m)), device=device).to(TYPES[self.dtype])
        return a, torch.randn(*outer, k, device=device).to(TYPES[self.dtype])

    def torch(self, a, x):
        a = a if self.form == "n" else a.transpose(-1, -2)
        return torch.mv(a, x) if a.dim() == 2 else torch.bmm(a, x[..., None])[..., 0]

    def flops(self, a, x):
        return 2 * a.numel()

    def output_bytes(self, a, x):
        return a.numel() // x.shape[-1] * a.element_size()

    def peers(self, device):
        if device.type != "cuda" or self.batch:
            return {}

        def cublas(a, x):
            a = a if self.form == "n" else a.T
            out = torch.empty(a.shape[0], device=a.device, dtype=a.dtype)
            return lambda: torch.mv(a, x, out=out)
        return {"cuBLAS": cublas}


class ThinMatmul(Matmul):
    """A product of few rows: bound by the bytes of its second operand. (inputs scales those only)"""
    bound = "memory"

    def __init__(self, m, n, k, dtype, form="nn"):
        super().__init__(m, n, k, dtype, form)
        self.name = f"thin_{form} {m}x{n}x{k} {dtype}"

    def inputs(self, device, scale):
        n, k = max(16, self.n // scale), max(16, self.k // scale)
        a = torch.randn(self.m, k, device=device).to(TYPES[self.dtype])
        return a, torch.randn((k, n) if self.form[1] == "n" else (n, k), device=device).to(TYPES[self.dtype])

    def peers(self, device):
        return {name: p for name, p in super().peers(device).items() if name == "cuBLAS"}


class ViewMatmul(Matmul):
    """x @ w.T: the second operand is a transposed view, of a tensor or of a slice of one."""

    def __init__(self, m, n, k, dtype, sliced=False):
        super().__init__(m, n, k, dtype)
        self.sliced = sliced
        self.name = f"matmul_view {m}x{n}x{k} {dtype}" + (" sliced" if sliced else "")

    def inputs(self, device, scale):
        a, b = super().inputs(device, scale)
        w = torch.randn(b.shape[1], b.shape[0] + (64 if self.sliced else 0), device=device).to(b.dtype)
        return a, w[:, :b.shape[0]].T

    def peers(self, device):
        return {name: p for name, p in super().peers(device).items() if name == "cuBLAS"}


class Tf32Matmul(Matmul):
    """f32 tensors, operands rounded to tf32: what PyTorch calls allow_tf32."""

    def __init__(self, m, n, k, form):
        super().__init__(m, n, k, "f32", form)
        self.name = f"matmul_{form} {m}x{n}x{k} tf32"
        self.text = self.text.replace("{ c", "{\n  precision(contract = tf32)\n  c").replace(" }", "\n}")
        self.tolerance = 5e-3

    def torch(self, a, b):
        torch.backends.cuda.matmul.allow_tf32 = True
        try:
            return super().torch(a, b)
        finally:
            torch.backends.cuda.matmul.allow_tf32 = False

    def peers(self, device):
        def cublas(a, b):
            x, y = (a if self.form[0] == "n" else a.T), (b if self.form[1] == "n" else b.T)
            out = torch.empty(x.shape[0], y.shape[1], device=x.device, dtype=x.dtype)

            def run():
                torch.backends.cuda.matmul.allow_tf32 = True
                torch.mm(x, y, out=out)
                torch.backends.cuda.matmul.allow_tf32 = False
                return out
            return run
        return {"cuBLAS": cublas} if device.type == "cuda" else {}


class PartsMatmul(Matmul):
    """f32 tensors, operands as sums of two bf16 or tf32; the peers compute in f32."""

    def __init__(self, m, n, k, form, policy="bf16x3"):
        super().__init__(m, n, k, "f32", form)
        self.name = f"matmul_{form} {m}x{n}x{k} {policy}"
        self.text = self.text.replace("{ c", "{\n  precision(contract = " + policy + ")\n  c").replace(" }", "\n}")


class Int8Matmul(Matmul):
    """i8 operands, i32 results."""

    def __init__(self, m, n, k, form):
        super().__init__(m, n, k, "f32", form)
        self.name = f"matmul_{form} {m}x{n}x{k} i8"
        self.text = self.text.replace("f32", "i8").replace("c: i8", "c: i32")
        self.tolerance = 0

    def inputs(self, device, scale):
        return tuple(torch.randint(-128, 128, x.shape, device=device, dtype=torch.int8) for x in super().inputs(device, scale))

    def expected(self, a, b):
        return super().torch(a.double(), b.double())

    def torch(self, a, b):
        return torch._int_mm(a if self.form[0] == "n" else a.T, b if self.form[1] == "n" else b.T)

    def output_bytes(self, a, b):
        m, n, _ = self.dims(a, b)
        return m * n * 4

    def peers(self, device):
        return {}


class Float8Matmul(Matmul):
    """f8e4m3 operands, bf16 results, second operand transposed; sums promoted to f32, or left in the unit (fast)."""

    def __init__(self, m, n, k, fast):
        super().__init__(m, n, k, "bf16", "nt")
        self.fast = fast
        self.name = f"matmul_nt {m}x{n}x{k} f8{' fast' if fast else ''}"
        policy = "precision(accumulate = fast) " if fast else ""
        self.text = self.text.replace("a: bf16", "a: f8e4m3").replace("b: bf16", "b: f8e4m3").replace("{ c", "{ " + policy + "c")
        # The unit cuts 14 bits: seldom more than a hundredth where it adds 128 products, more where it adds thousands.
        self.tolerance = 8e-2 if fast else 2e-2

    def inputs(self, device, scale):
        return tuple(x.to(torch.float8_e4m3fn) for x in super().inputs(device, scale))

    def expected(self, a, b):
        return a.float().double() @ b.float().double().T

    def torch(self, a, b):
        one = torch.ones((), device=a.device)
        return torch._scaled_mm(a, b.T, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=self.fast)

    def output_bytes(self, a, b):
        return 2 * a.shape[0] * b.shape[0]

    def peers(self, device):
        def cublaslt(a, b):
            one, out = torch.ones((), device=a.device), torch.empty(a.shape[0], b.shape[0], device=a.device, dtype=torch.bfloat16)
            return lambda: torch._scaled_mm(a, b.T, scale_a=one, scale_b=one, out=out, out_dtype=torch.bfloat16, use_fast_accum=self.fast)
        return {"cuBLASLt": cublaslt} if device.type == "cuda" else {}


class Float8Blocks(Float8Matmul):
    """Scales of 1 x 128 blocks of the first operand and 128 x 128 blocks of the second."""

    def __init__(self, m, n, k):
        super().__init__(m, n, k, False)
        self.name = f"matmul_nt {m}x{n}x{k} f8 blocks"
        self.text = """def matmul(a: f8e4m3[M, K], b: f8e4m3[N, K], sa: f32[K // 128, M], sb: f32[N // 128, K // 128]) -> (c: bf16[M, N]) {
  require K % 128 == 0
  require N % 128 == 0
  c[i, j] = sum[k](a[i, k] * sa[k // 128, i] * b[j, k] * sb[j // 128, k // 128])
}"""

    def inputs(self, device, scale):
        a, b = super().inputs(device, scale)
        k = a.shape[1]
        return a, b, torch.rand(k // 128, a.shape[0], device=device) + 0.5, torch.rand(b.shape[0] // 128, k // 128, device=device) + 0.5

    def expected(self, a, b, sa, sb):
        x = a.float() * sa.T.repeat_interleave(128, 1)
        y = b.float() * sb.repeat_interleave(128, 0).repeat_interleave(128, 1)
        return x.double() @ y.double().T

    def torch(self, a, b, sa, sb):
        return torch._scaled_mm(a, b.T, scale_a=sa.T, scale_b=sb.T, out_dtype=torch.bfloat16)

    def flops(self, a, b, sa, sb):
        return super().flops(a, b)

    def output_bytes(self, a, b, sa, sb):
        return super().output_bytes(a, b)

    def peers(self, device):
        return {}


class Conv(Workload):
    """2-D convolution, channels last, half padding; the peer is cuDNN, benchmark mode."""
    bound, tolerance = "compute", 1e-2

    def __init__(self, batch, channels, size, outputs, taps, stride, dtype="bf16"):
        self.batch, self.channels, self.size, self.outputs, self.taps, self.stride = batch, channels, size, outputs, taps, stride
        self.dtype = TYPES[dtype]
        self.name = f"conv {batch}x{channels}x{size}x{size} k{outputs} r{taps} s{stride} {dtype}"
        pad = taps // 2
        at = lambda i, r: f"{i} * {stride} + {r} - {pad}" if stride > 1 else f"{i} + {r} - {pad}"
        self.text = (f"def conv(x: {dtype}[N, H, W, C], w: {dtype}[O, {taps}, {taps}, C]) -> "
                     f"(y: {dtype}[N, (H - 1) // {stride} + 1, (W - 1) // {stride} + 1, O]) {{\n"
                     f"  y[n, p, q, o] = sum[r, s, c](x.pad(0)[n, {at('p', 'r')}, {at('q', 's')}, c] * w[o, r, s, c])\n}}")

    def inputs(self, device, scale):
        x = torch.randn(max(1, self.batch // scale), self.size, self.size, self.channels, device=device).to(self.dtype)
        w = torch.randn(self.outputs, self.taps, self.taps, self.channels, device=device).to(self.dtype)
        return x, w

    def torch(self, x, w):
        # Tensors in PyTorch's order of dims, over the same memory.
        torch.backends.cudnn.benchmark = True
        return F.conv2d(x.permute(0, 3, 1, 2), w.permute(0, 3, 1, 2), stride=self.stride, padding=self.taps // 2).permute(0, 2, 3, 1)

    def flops(self, x, w):
        out = (self.size - 1) // self.stride + 1
        return 2 * x.shape[0] * out * out * w.numel()

    def output_bytes(self, x, w):
        out = (self.size - 1) // self.stride + 1
        return x.shape[0] * out * out * self.outputs * x.element_size()


class PooledConv(Conv):
    """The same, relu and the maximum of windows of 2 x 2: of a `let`, which is never in memory."""

    def __init__(self, batch, channels, size, outputs, dtype="bf16"):
        super().__init__(batch, channels, size, outputs, 3, 1, dtype)
        self.name = f"conv pool {batch}x{channels}x{size}x{size} k{outputs} {dtype}"
        self.text = f"""def conv_pool(x: {dtype}[N, H, W, C], w: {dtype}[O, 3, 3, C]) -> (y: {dtype}[N, H // 2, W // 2, O]) {{
  let a[n, h, w_, o] = relu(sum[r, s, c](x.pad(0)[n, h + r - 1, w_ + s - 1, c] * w[o, r, s, c])) where h in 0:H, w_ in 0:W
  y[n, h, w_, o] = max[u in 0:2, v in 0:2](a[n, 2 * h + u, 2 * w_ + v, o])
}}"""

    def torch(self, x, w):
        return F.max_pool2d(F.relu(super().torch(x, w).permute(0, 3, 1, 2)), 2).permute(0, 2, 3, 1)

    def output_bytes(self, x, w):
        return super().output_bytes(x, w) // 4


class Linear(Matmul):
    def __init__(self, m, n, k, dtype="bf16"):
        super().__init__(m, n, k, dtype, "nt")
        self.name = f"linear_gelu {m}x{n}x{k} {dtype}"
        self.text = f"""def linear_gelu(x: {dtype}[M, K], w: {dtype}[N, K], b: {dtype}[N]) -> (y: {dtype}[M, N]) {{
  let a[i, j] = sum[k](x[i, k] * w[j, k])
  y[i, j] = gelu(a[i, j] + b[j])
}}"""

    def inputs(self, device, scale):
        x, w = super().inputs(device, scale)
        return x, w / self.k ** 0.5, torch.randn(w.shape[0], device=device).to(x.dtype)

    def torch(self, x, w, b):
        return F.gelu(F.linear(x, w, b))

    def flops(self, x, w, b):
        return super().flops(x, w)

    def output_bytes(self, x, w, b):
        return super().output_bytes(x, w)

    def peers(self, device):
        return {}


class LinearResidual(Linear):
    """A layer's second half: bias, GELU and the residual in the product's launch."""

    def __init__(self, m, n, k, dtype="bf16"):
        super().__init__(m, n, k, dtype)
        self.name = f"linear_gelu_residual {m}x{n}x{k} {dtype}"
        self.text = self.text.replace("linear_gelu", "linear_gelu_residual").replace(f"b: {dtype}[N])", f"b: {dtype}[N], r: {dtype}[M, N])")
        self.text = self.text.replace("gelu(a[i, j] + b[j])", "gelu(a[i, j] + b[j]) + r[i, j]")
        self.tolerance *= 2  # eager rounds before the residual, too

    def inputs(self, device, scale):
        x, w, b = super().inputs(device, scale)
        return x, w, b, torch.randn(x.shape[0], w.shape[0], device=device).to(x.dtype)

    def torch(self, x, w, b, r):
        return super().torch(x, w, b) + r

    def flops(self, x, w, b, r):
        return super().flops(x, w, b)

    def output_bytes(self, x, w, b, r):
        return super().output_bytes(x, w, b)


class LinearStats(Linear):
    """Bias, and reductions of the results in the product's launch: sums of squares of rows, sums of columns."""

    def __init__(self, m, n, k, dtype="bf16"):
        super().__init__(m, n, k, dtype)
        self.name, self.text, self.kernel = f"linear_stats {m}x{n}x{k} {dtype}", None, "linear_stats"
        self.file = os.path.join(EXAMPLES, "linear_stats.kc")

    def torch(self, x, w, b):
        y = F.linear(x, w, b)
        wide = y.to(torch.promote_types(y.dtype, torch.float32))
        return y, wide.square().sum(1), wide.sum(0)


class BlockSparse(Matmul):
    """Weights of which a mask, known at run time, keeps a tenth of the blocks. The peers are PyTorch's block-sparse
    rows (BSR), whose product is made beforehand of what the mask keeps."""

    def __init__(self, m, n, k, block, density=0.1):
        super().__init__(m, n, k, "bf16", "nt")
        self.block, self.density = block, density
        self.name = f"block_sparse {m}x{n}x{k} block {block} bf16"
        self.text = f"""def matmul(a: bf16[M, K], w: bf16[N, K], mask: bool[N // {block}, K // {block}]) -> (c: bf16[M, N]) {{
  require N % {block} == 0
  require K % {block} == 0
  c[i, j] = sum[k, mask[j // {block}, k // {block}]](a[i, k] * w[j, k])
}}"""

    def inputs(self, device, scale):
        m, n, k = max(16, self.m // scale), max(self.block, self.n // scale), max(self.block, self.k // scale)
        a, w = (torch.randn(rows, k, device=device).to(torch.bfloat16) for rows in (m, n))
        mask = torch.rand(n // self.block, k // self.block, device=device) < self.density
        # Zero where the mask is: BSR and the dense product then mean the same.
        return a, w * mask.repeat_interleave(self.block, 0).repeat_interleave(self.block, 1), mask

    def torch(self, a, w, mask):
        return a @ w.T

    def flops(self, a, w, mask):
        return super().flops(a, w) * self.density

    def output_bytes(self, a, w, mask):
        return super().output_bytes(a, w)

    def peers(self, device):
        if device.type != "cuda":
            return {}

        def mm(a, w, mask):
            sparse, dense = w.to_sparse_bsr((self.block, self.block)), a.T.contiguous()
            return lambda: (sparse @ dense).T

        def linear(a, w, mask):
            sparse = w.to_sparse_bsr((self.block, self.block))
            return lambda: F.linear(a, sparse)
        return {"BSR mm": mm, "BSR linear": linear}


class Grouped(Workload):
    """Rows sorted by group, as by the expert that each was sent to: as many products as groups, of sizes that are data.
    Eager is a call of cuBLAS per group, whose sizes the host knows; the peer reads them on the device as kernelc does."""
    kernel, bound = "grouped", "compute"

    def __init__(self, m, n, k, groups, form):
        self.m, self.n, self.k, self.groups, self.form = m, n, k, groups, form
        self.tolerance = TOLERANCE["bf16"]
        self.name = f"grouped_{form} {m}x{n}x{k} g{groups} bf16"
        dims, at = ("G, K, N", "g, k, n") if form == "nn" else ("G, N, K", "g, n, k")
        self.text = f"""def grouped(x: bf16[M, K], w: bf16[{dims}], off: i32[G + 1]) -> (y: bf16[M, N]) {{
  y[i, n] = sum[k](x[i, k] * w[{at}]) where off[g] <= i < off[g + 1]
}}"""

    def inputs(self, device, scale):
        m, n, k = max(16, self.m // scale), max(64, self.n // scale), max(64, self.k // scale)
        sizes = torch.bincount(torch.randint(0, self.groups, (m,)), minlength=self.groups)
        off = F.pad(sizes.cumsum(0), (1, 0))
        self.offsets = off.tolist()
        w = torch.randn(self.groups, *((k, n) if self.form == "nn" else (n, k)), device=device)
        return torch.randn(m, k, device=device).to(torch.bfloat16), w.to(torch.bfloat16), off.to(device, torch.int32)

    def group(self, w):
        return w if self.form == "nn" else w.transpose(1, 2)

    def torch(self, x, w, off):
        y = torch.empty(x.shape[0], self.group(w).shape[2], device=x.device, dtype=x.dtype)
        for part, lo, hi in zip(self.group(w), self.offsets, self.offsets[1:]):
            torch.mm(x[lo:hi], part, out=y[lo:hi])
        return y

    def flops(self, x, w, off):
        return 2 * x.numel() * self.group(w).shape[2]

    def output_bytes(self, x, w, off):
        return x.shape[0] * self.group(w).shape[2] * x.element_size()

    def peers(self, device):
        if device.type != "cuda" or not hasattr(torch, "_grouped_mm"):
            return {}
        return {"grouped_mm": lambda x, w, off: lambda: torch._grouped_mm(x, self.group(w), offs=off[1:])}


def by_f64(q, k, v, mask=None, score=None, elements=1 << 27):
    """Attention in f64, a part of the rows at a time: all scores of a long row are more than a GPU holds."""
    b, h, s, d = q.shape
    t, share = k.shape[2], q.shape[1] // k.shape[1]
    out = torch.empty(q.shape, dtype=torch.float64, device=q.device)
    j = torch.arange(t, device=q.device)[None, :]
    rows = max(1, min(s, elements // t))
    for at in ((x, y, lo) for x in range(b) for y in range(h) for lo in range(0, s, rows)):
        x, y, lo = at
        i = torch.arange(lo, min(s, lo + rows), device=q.device)[:, None]
        z = q[x, y, lo:lo + rows].double() @ k[x, y // share].double().t() * d ** -0.5
        z = score(z, x, y, i, j) if score else z
        z = z.masked_fill_(~mask(x, y, i, j), -math.inf) if mask else z
        out[x, y, lo:lo + rows] = torch.softmax(z, 1) @ v[x, y // share].double()
    return out


class Attention(Workload):
    by_row = True  # a row of few keys is larger than one of many
    file, kernel, bound, tolerance = os.path.join(EXAMPLES, "attention.kc"), "attention", "compute", 2e-2

    def __init__(self, b, h, g, s, d, causal):
        self.shape = (b, h, g, s, d)
        self.causal = causal
        self.constants = {"causal": int(causal)}
        self.name = f"attention{'_causal' if causal else ''} b{b} h{h} g{g} s{s} d{d} bf16"

    def inputs(self, device, scale):
        b, h, g, s, d = self.shape
        s = max(32, s // scale)
        make = lambda heads: torch.randn(b, heads, s, d, device=device).to(torch.bfloat16)
        return make(h), make(g), make(g)

    def torch(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, enable_gqa=q.shape[1] != k.shape[1])

    def expected(self, q, k, v):
        return by_f64(q, k, v, (lambda b, h, i, j: j <= i) if self.causal else None)

    def flops(self, q, k, v):
        return 4 * q.numel() * k.shape[2] // (2 if self.causal else 1)

    def peers(self, device):
        if device.type != "cuda":
            return {}
        from torch.nn.attention import SDPBackend, sdpa_kernel

        def by(backend):
            def make(q, k, v):
                def run():
                    with sdpa_kernel(backend):
                        return self.torch(q, k, v)
                return run
            return make
        return {"cudnn": by(SDPBackend.CUDNN_ATTENTION), "flash": by(SDPBackend.FLASH_ATTENTION)}


class LinearAttention(Workload):
    """Two products in a chain, without a softmax between them: (q kᵀ) v."""
    file, kernel, bound, tolerance = os.path.join(KERNELS, "chains.kc"), "linear_attention", "compute", 3e-2

    def __init__(self, b, s, d):
        self.shape = (b, s, d)
        self.name = f"linear_attention b{b} s{s} d{d} bf16"

    def inputs(self, device, scale):
        b, s, d = self.shape
        return tuple(torch.randn(b, max(32, s // scale), d, device=device).to(torch.bfloat16) for _ in range(3))

    def torch(self, q, k, v):
        return (q @ k.transpose(1, 2)) @ v

    def flops(self, q, k, v):
        return 4 * q.numel() * k.shape[1]


class Mlp(Workload):
    """Two layers, of which the second has few columns."""
    file, kernel, bound, tolerance = os.path.join(KERNELS, "chains.kc"), "mlp", "compute", 2e-2

    def __init__(self, m, k, h, n):
        self.shape = (m, k, h, n)
        self.name = f"mlp {m}x{k}x{h}x{n} bf16"

    def inputs(self, device, scale):
        m, k, h, n = self.shape
        make = lambda rows, columns: (torch.randn(rows, columns, device=device) / columns ** 0.5).to(torch.bfloat16)
        return make(max(min(m, 32), m // scale), k), make(h, k), make(n, h)

    def torch(self, x, w, u):
        return F.relu(x @ w.t()) @ u.t()

    def flops(self, x, w, u):
        return 2 * x.shape[0] * w.shape[0] * (w.shape[1] + u.shape[0])

    def output_bytes(self, x, w, u):
        return x.shape[0] * u.shape[0] * x.element_size()


class Products(Workload):
    """Products of one tile of results in one launch: side by side, or one behind the other."""
    file, bound, tolerance = os.path.join(KERNELS, "products.kc"), "compute", 2e-2

    def __init__(self, kernel, *shape):
        self.kernel, self.shape = kernel, shape
        self.name = f"{kernel} {'x'.join(map(str, shape))} bf16"

    def inputs(self, device, scale):
        make = lambda *shape: (torch.randn(*shape, device=device) / shape[-2] ** 0.5).to(torch.bfloat16)
        if self.kernel == "mla_scores":
            h, s, d, e = self.shape
            s = max(32, s // scale)
            return make(h, s, d), make(h, s, d), make(h, s, e), make(s, e)
        m, k, n = self.shape[:3]
        x = torch.randn(min(m, max(32, m // scale)), k, device=device).to(torch.bfloat16)
        if self.kernel == "lora":
            return x, make(k, n), make(k, self.shape[3]), make(self.shape[3], n)
        if self.kernel == "gqa":
            return x, make(k, n), make(k, self.shape[3]), make(k, self.shape[3])
        return x, *(make(k, n) for _ in range(2 if self.kernel == "gated" else 3))

    def torch(self, x, w, *others):
        if self.kernel == "gated":
            return F.silu(x @ w) * (x @ others[0])
        if self.kernel in ("qkv", "gqa"):
            return x @ w, x @ others[0], x @ others[1]
        if self.kernel == "lora":
            return x @ w + (x @ others[0]) @ others[1]
        return x @ w.transpose(1, 2) + others[0] @ others[1].t()

    def flops(self, x, w, *others):
        if self.kernel == "mla_scores":
            return 2 * x.shape[0] * x.shape[1] * w.shape[1] * (x.shape[2] + others[0].shape[2])
        if self.kernel == "lora":
            return 2 * x.shape[0] * (w.numel() + others[0].numel() + others[1].numel())
        return 2 * x.shape[0] * (w.numel() + sum(o.numel() for o in others))

    def output_bytes(self, x, w, *others):
        if self.kernel == "gqa":
            return 2 * x.shape[0] * (w.shape[1] + 2 * others[0].shape[1])
        if self.kernel == "mla_scores":
            return 2 * x.shape[0] * x.shape[1] * w.shape[1]
        return 2 * x.shape[0] * w.shape[1] * (3 if self.kernel == "qkv" else 1)


class AttentionBackward(Workload):
    """Gradients of q, k and v from a saved log-sum-exp and the rows' sums of o * g, which are given."""
    file, kernel, bound, tolerance = os.path.join(KERNELS, "products.kc"), "attention_backward", "compute", 5e-2

    def __init__(self, b, s, d):
        self.shape = (b, s, d)
        self.name = f"attention_backward b{b} s{s} d{d} bf16"

    def inputs(self, device, scale):
        b, s, d = self.shape
        q, k, v, g = (torch.randn(b, max(32, s // scale), d, device=device).to(torch.bfloat16) for _ in range(4))
        lse, o = [], []
        for i in range(b):  # (a head at a time: scores are large)
            scores = q[i].float() @ k[i].float().t() * d ** -0.5
            lse.append(torch.logsumexp(scores, 1))
            o.append((torch.softmax(scores, 1) @ v[i].float()).to(torch.bfloat16))
        return q, k, v, g, torch.stack(o), torch.stack(lse)

    def torch(self, q, k, v, g, o, lse):
        scale = q.shape[2] ** -0.5
        p = torch.exp((q @ k.transpose(1, 2)).to(lse.dtype) * scale - lse[..., None])
        delta = (g.to(lse.dtype) * o.to(lse.dtype)).sum(-1, keepdim=True)
        ds = (p * ((g @ v.transpose(1, 2)).to(lse.dtype) - delta) * scale).to(q.dtype)
        return ds @ k, ds.transpose(1, 2) @ q, p.to(q.dtype).transpose(1, 2) @ g

    def expected(self, *inputs):
        results = [self.torch(*(x[i:i + 1].double() for x in inputs)) for i in range(inputs[0].shape[0])]
        return tuple(torch.cat(parts) for parts in zip(*results))

    def flops(self, q, k, *rest):
        return 10 * q.numel() * k.shape[1]

    def output_bytes(self, q, k, *rest):
        return 2 * (q.numel() + 2 * k.numel())

    def peers(self, device):
        if device.type != "cuda":
            return {}
        from torch.nn.attention import SDPBackend, sdpa_kernel

        def cudnn(q, k, v, g, o, lse):  # its own sums of o * g are part of what it takes
            leaves = [x[:, None].detach().requires_grad_() for x in (q, k, v)]
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                own = F.scaled_dot_product_attention(*leaves)
            return lambda: tuple(x[:, 0] for x in torch.autograd.grad(own, leaves, g[:, None], retain_graph=True))
        return {"cudnn": cudnn}


class Cascade(Workload):
    """Reductions that feed each other over what products give."""
    file, bound, tolerance = os.path.join(KERNELS, "cascades.kc"), "compute", 2e-2

    def __init__(self, kernel, *shape):
        self.kernel, self.shape = kernel, shape
        self.bound = "memory" if kernel == "decode" else "compute"
        self.name = f"{kernel} {'x'.join(map(str, shape))} bf16"

    def inputs(self, device, scale):
        make = lambda *shape: torch.randn(*shape, device=device).to(torch.bfloat16)
        if self.kernel == "lce":
            m, k, n = self.shape
            return make(max(32, m // scale), k), (make(max(64, n // scale), k) / k ** 0.5).to(torch.bfloat16)
        if self.kernel == "decode":
            b, g, r, t, d = self.shape
            t = max(64, t // scale)
            return make(b, g, r, d), make(b, g, t, d), make(b, g, t, d)
        b, h, s, d = self.shape[:4]
        s = max(32, s // scale)
        q, k, v = (make(b, h, s, d) for _ in range(3))
        if self.kernel == "sinks":
            return q, k, v, torch.randn(h, device=device)
        return q, k, make(b, h, s, self.shape[4]), make(b, h, s, self.shape[4]), v

    def torch(self, *inputs):
        if self.kernel == "lce":
            x, w = inputs
            s = x @ w.t()
            return torch.logsumexp(s if s.dtype == torch.float64 else s.float(), 1)
        if self.kernel == "decode":
            return F.scaled_dot_product_attention(*inputs)
        if self.kernel == "two_scores":
            q, k, qr, kr, v = inputs
            return F.scaled_dot_product_attention(torch.cat((q, qr), 3), torch.cat((k, kr), 3), v)
        q, k, v, z = inputs
        s = q @ k.transpose(2, 3) * q.shape[3] ** -0.5
        beside = torch.cat((s, z.to(s.dtype)[None, :, None, None].expand(*s.shape[:3], 1)), 3)
        return torch.softmax(beside, 3)[..., :-1].to(v.dtype) @ v

    def expected(self, *inputs):
        if self.kernel == "lce":
            x, w = inputs
            return torch.cat([self.torch(part.double(), w.double()) for part in x.split(1024)])
        parts = []  # (a batch at a time: scores are large)
        for b in range(inputs[0].shape[0]):
            parts.append(self.torch(*(x if x.dim() == 1 else x[b:b + 1] for x in (y.double() for y in inputs))))
        return torch.cat(parts)

    def flops(self, *inputs):
        if self.kernel == "lce":
            x, w = inputs
            return 2 * x.shape[0] * w.numel()
        extra = inputs[2].shape[3] if self.kernel == "two_scores" else 0
        q, k = inputs[:2]
        return 2 * q.shape[0] * q.shape[1] * q.shape[2] * k.shape[2] * (2 * q.shape[3] + extra)

    def output_bytes(self, *inputs):
        return 4 * inputs[0].shape[0] if self.kernel == "lce" else 2 * inputs[0].numel()

    def peers(self, device):
        if device.type != "cuda" or self.kernel in ("lce", "sinks"):
            return {}
        from torch.nn.attention import SDPBackend, sdpa_kernel

        def by(backend):
            def make(*inputs):
                if self.kernel == "two_scores":  # (put side by side before)
                    q, k, qr, kr, v = inputs
                    inputs = torch.cat((q, qr), 3), torch.cat((k, kr), 3), v
                def run():
                    with sdpa_kernel(backend):
                        return F.scaled_dot_product_attention(*inputs)
                return run
            return make
        return {"cudnn": by(SDPBackend.CUDNN_ATTENTION), "flash": by(SDPBackend.FLASH_ATTENTION)}


class Paged(Workload):
    """Decoding with keys and values in pages, which lie anywhere. Peers: cuDNN on keys that lie in a row (no table), the same behind a gather,
    and FlexAttention with its own table of pages."""
    file, kernel, bound, tolerance = os.path.join(KERNELS, "cascades.kc"), "paged", "memory", 2e-2

    def __init__(self, b, g, r, t, page, d):
        self.shape = b, g, r, t, page, d
        self.name = f"paged {'x'.join(map(str, self.shape))} bf16"

    def inputs(self, device, scale):
        b, g, r, t, page, d = self.shape
        pages = max(1, t // scale // page)
        make = lambda *shape: torch.randn(*shape, device=device).to(torch.bfloat16)
        table = torch.randperm(b * pages, device=device).to(torch.int32).reshape(b, pages)
        k, v = (make(b * pages, page, g, d) for _ in range(2))
        return make(b, g, r, d), k, v, table, torch.full((b,), pages * page, dtype=torch.int32, device=device)

    @staticmethod
    def gathered(x, table):
        return x[table.long()].flatten(1, 2).transpose(1, 2)  # [B, G, T, D]

    def torch(self, q, k, v, table, n):
        return F.scaled_dot_product_attention(q, self.gathered(k, table), self.gathered(v, table))

    def expected(self, q, k, v, table, n):
        return torch.cat([F.scaled_dot_product_attention(q[b:b + 1].double(), *(self.gathered(x, table[b:b + 1]).double() for x in (k, v)))
                          for b in range(q.shape[0])])

    def flops(self, q, k, *rest):
        return 4 * q.shape[2] * k.numel()

    def output_bytes(self, q, *rest):
        return 2 * q.numel()

    def peers(self, device):
        if device.type != "cuda":
            return {}
        from torch.nn.attention import SDPBackend, sdpa_kernel

        def dense(q, k, v, table, n):
            rows = self.gathered(k, table).contiguous(), self.gathered(v, table).contiguous()

            def run():
                with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                    return F.scaled_dot_product_attention(q, *rows)
            return run

        def behind_gather(q, k, v, table, n):
            def run():
                with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                    return F.scaled_dot_product_attention(q, self.gathered(k, table), self.gathered(v, table))
            return run

        def flex(q, k, v, table, n):
            from torch.nn.attention.experimental._paged_attention import PagedAttention
            from torch.nn.attention.flex_attention import create_block_mask, flex_attention
            b, g, r, t, page, d = self.shape
            size = max(page, 128)
            cache = [x.transpose(1, 2).contiguous().transpose(0, 1).reshape(1, g, -1, d) for x in (k, v)]
            if page != size:
                raise NotImplementedError("pages of at least 128")
            paged = PagedAttention(k.shape[0], page, b, device=q.device.type)
            paged.page_table = torch.full_like(paged.page_table, -1)
            paged.page_table[:, :table.shape[1]] = table
            paged.physical_to_logical = torch.full_like(paged.physical_to_logical, -1)
            for i in range(b):
                paged.physical_to_logical[i, table[i].long()] = torch.arange(table.shape[1], device=q.device)
            mask = create_block_mask(lambda b, h, i, j: j >= 0, b, 1, r, table.shape[1] * page, device=q.device, BLOCK_SIZE=(128, page))
            mask = paged.convert_logical_block_mask(mask)
            call = torch.compile(flex_attention, dynamic=False)
            return lambda: call(q, *cache, block_mask=mask)
        return {"cudnn, no table": dense, "gather, cudnn": behind_gather, "flex": flex}


class Scan(Workload):
    """Sums up to each element, along rows or of one long row."""
    file, tolerance = os.path.join(KERNELS, "scans.kc"), 1e-3

    def __init__(self, kernel, *shape):
        self.kernel, self.shape = kernel, shape
        self.name = f"{kernel} {'x'.join(map(str, shape))}"

    def inputs(self, device, scale):
        shape = (max(1, self.shape[0] // scale), *self.shape[1:])
        x = torch.randn(shape, device=device) if "i32" not in self.kernel else torch.randint(-8, 8, shape, device=device, dtype=torch.int32)
        return (x, torch.rand(shape, device=device) < 0.5) if self.kernel == "masked" else (x,)

    def torch(self, x, *mask):
        if mask:
            x = torch.where(mask[0], x, 0)
        if self.kernel == "reverse":
            return x.flip(-1).cumsum(-1, dtype=x.dtype).flip(-1)
        return x.cumsum(-1, dtype=x.dtype)


class Histogram(Workload):
    file, kernel, tolerance = os.path.join(KERNELS, "scatters.kc"), "histogram", 0

    def __init__(self, n):
        self.n, self.name = n, f"histogram {n} u8 into 256"

    def inputs(self, device, scale):
        return (torch.randint(256, (self.n // scale,), device=device, dtype=torch.uint8),)

    def torch(self, x):
        return torch.bincount(x, minlength=256)

    def output_bytes(self, x):
        return 1024


class IndexAdd(Workload):
    """Rows added to the rows that data chooses: PyTorch's own way is atomic, ours has a fixed order without `order(any)`."""
    file, tolerance = os.path.join(KERNELS, "scatters.kc"), 1e-4

    def __init__(self, kernel, n, d, r):
        self.kernel, self.shape, self.constants = kernel, (n, d, r), {"R": r}
        self.name = f"{kernel} {n}x{d} into {r} f32"

    def inputs(self, device, scale):
        n, d, r = self.shape
        return torch.randint(r, (n // scale,), device=device), torch.randn(n // scale, d, device=device)

    def torch(self, token, g):
        n, d, r = self.shape
        if self.kernel == "embedding_gradient":
            return torch.ops.aten.embedding_dense_backward(g, token, r, -1, False)
        return torch.zeros(r, d, device=g.device, dtype=g.dtype).index_add_(0, token, g)

    def output_bytes(self, token, g):
        return self.shape[2] * self.shape[1] * g.element_size()


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
