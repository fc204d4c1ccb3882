# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of other types than the operands' 16 bits, and of parts."""
import torch

from .products import Matmul


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
