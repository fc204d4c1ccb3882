"""Peers written in Triton, the way its users write them. Importing needs Triton; each function
takes the inputs and returns a function without arguments."""
import torch
import triton
import triton.language as tl


@triton.jit
def _softmax_kernel(x, y, n, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, block)
    values = tl.load(x + row * n + at, mask=at < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(values - tl.max(values, 0))
    tl.store(y + row * n + at, (e / tl.sum(e, 0)).to(y.dtype.element_ty), mask=at < n)


def softmax(x):
    m, n = x.shape
    y = torch.empty_like(x)
    block = triton.next_power_of_2(n)
    warps = min(32, max(4, block // 512))

    def run():
        _softmax_kernel[(m,)](x, y, n, block=block, num_warps=warps)
        return y
    return run


@triton.jit
def _layer_norm_kernel(x, gain, bias, y, n, eps, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, block)
    inside = at < n
    v = tl.load(x + row * n + at, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(v, 0) / n
    d = tl.where(inside, v - mean, 0.0)
    scale = tl.rsqrt(tl.sum(d * d, 0) / n + eps)
    g = tl.load(gain + at, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(bias + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(y + row * n + at, (d * scale * g + b).to(y.dtype.element_ty), mask=inside)


def layer_norm(x, gain, bias):
    m, n = x.shape
    y = torch.empty_like(x)
    block = triton.next_power_of_2(n)
    warps = min(32, max(4, block // 512))

    def run():
        _layer_norm_kernel[(m,)](x, gain, bias, y, n, 1e-5, block=block, num_warps=warps)
        return y
    return run


_CONFIGS = [triton.Config({"bm": bm, "bn": bn, "bk": 64, "group": 8}, num_stages=stages, num_warps=warps)
            for bm, bn, stages, warps in ((128, 128, 3, 4), (128, 128, 4, 8), (128, 256, 3, 8), (256, 128, 3, 8), (64, 256, 4, 4))]


@triton.autotune(configs=_CONFIGS, key=["m", "n", "k"])
@triton.jit
def _matmul_kernel(a, b, c, m, n, k, bm: tl.constexpr, bn: tl.constexpr, bk: tl.constexpr, group: tl.constexpr):
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(m, bm), tl.cdiv(n, bn)
    first = pid // (group * columns) * group
    height = min(rows - first, group)
    pm = first + pid % (group * columns) % height
    pn = pid % (group * columns) // height
    im, jn, kk = pm * bm + tl.arange(0, bm), pn * bn + tl.arange(0, bn), tl.arange(0, bk)
    pa = a + im[:, None] * k + kk[None, :]
    pb = b + kk[:, None] * n + jn[None, :]
    sums = tl.zeros((bm, bn), dtype=tl.float32)
    for k0 in range(0, tl.cdiv(k, bk)):
        x = tl.load(pa, mask=(im[:, None] < m) & (kk[None, :] < k - k0 * bk), other=0.0)
        y = tl.load(pb, mask=(kk[:, None] < k - k0 * bk) & (jn[None, :] < n), other=0.0)
        sums = tl.dot(x, y, sums)
        pa += bk
        pb += bk * n
    tl.store(c + im[:, None] * n + jn[None, :], sums.to(c.dtype.element_ty), mask=(im[:, None] < m) & (jn[None, :] < n))


def matmul(a, b):
    m, k = a.shape
    n = b.shape[1]
    c = torch.empty(m, n, device=a.device, dtype=a.dtype)
    grid = lambda meta: (triton.cdiv(m, meta["bm"]) * triton.cdiv(n, meta["bn"]),)

    def run():
        _matmul_kernel[grid](a, b, c, m, n, k)
        return c
    return run
