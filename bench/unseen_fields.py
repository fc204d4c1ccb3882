# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of bench/unseen/fields.kc: images, grids, transforms, graphs and statistics."""
from unseen_row import row


def canny_thin(t, x):
    p = t.nn.functional.pad(x[:, None], (1, 1, 1, 1), mode="replicate")
    k = t.tensor([[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]], device=x.device)
    gx, gy = t.nn.functional.conv2d(p, t.stack([k, k.T])[:, None]).unbind(1)
    m = (gx * gx + gy * gy).sqrt()
    z, flat = t.nn.functional.pad(m, (1, 1, 1, 1)), gx.abs() > gy.abs()
    a, b = t.where(flat, z[:, 1:-1, :-2], z[:, :-2, 1:-1]), t.where(flat, z[:, 1:-1, 2:], z[:, 2:, 1:-1])
    return t.where((m >= a) & (m > b), m, t.zeros_like(m))


def ssim(t, x, z, g):
    def blur(v):
        return t.nn.functional.conv2d(t.nn.functional.conv2d(v[:, None], g[None, None, :, None]), g[None, None, None])[:, 0]
    mx, mz = blur(x), blur(z)
    xx, zz, xz = blur(x * x) - mx * mx, blur(z * z) - mz * mz, blur(x * z) - mx * mz
    return ((2 * mx * mz + 0.0001) * (2 * xz + 0.0009) / ((mx * mx + mz * mz + 0.0001) * (xx + zz + 0.0009))).mean((1, 2))


def bilateral(t, x):
    p = t.nn.functional.pad(x[:, None], (2, 2, 2, 2), mode="reflect")[:, 0].unfold(1, 5, 1).unfold(2, 5, 1)
    at = t.arange(-2, 3, device=x.device)
    k = t.exp(-(at[:, None] ** 2 + at ** 2) / 4.5 - (p - x[..., None, None]) ** 2 * 50)
    return (k * p).sum((3, 4)) / k.sum((3, 4))


def gray_scott(t, u, v):
    def laplace(z):
        return t.roll(z, 1, 1) + t.roll(z, -1, 1) + t.roll(z, 1, 2) + t.roll(z, -1, 2) - 4 * z
    r = u * v * v
    return u + 0.16 * laplace(u) - r + 0.06 * (1 - u), v + 0.08 * laplace(v) + r - 0.122 * v


WAYS = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]


def boltzmann_step(t, f, cx, cy, w):
    s = t.stack([t.roll(f[q], (y, x), (0, 1)) for q, (x, y) in enumerate(WAYS)])
    rho, a, b = s.sum(0), cx.float()[:, None, None], cy.float()[:, None, None]
    ux, uy = (a * s).sum(0) / rho, (b * s).sum(0) / rho
    c = 3 * (a * ux + b * uy)
    return s - 0.6 * (s - w[:, None, None] * rho * (1 + c + c * c / 2 - 1.5 * (ux * ux + uy * uy)))


def block_dct(t, x, d, q):
    z = (x.float() - 128).unflatten(2, (-1, 8)).unflatten(1, (-1, 8)).transpose(2, 3)
    return (d @ z @ d.T / q).round().to(t.int16)


def signs(t, n, device, dtype):
    h = t.ones(1, 1, device=device, dtype=dtype)
    while len(h) < n:
        h = t.cat([t.cat([h, h], 1), t.cat([h, -h], 1)])
    return h


def hadamard_rows(t, x):
    return x @ signs(t, x.shape[1], x.device, x.dtype) * x.shape[1] ** -0.5


def fourier_power(t, x):
    return t.view_as_real(t.fft.rfft(x)).square().sum(2) / x.shape[1]


def circulant(t, x, w):
    return t.fft.irfft(t.fft.rfft(x) * t.fft.rfft(w), x.shape[1])


def mmd(t, x, z):
    def kernel(a, b):
        return t.exp(-t.cdist(a, b) ** 2 / x.shape[1]).mean()
    return kernel(x, x) + kernel(z, z) - 2 * kernel(x, z)


def density(t, x, s):
    h = 0.1
    return (-0.5 * ((x[:, None] - s) / h) ** 2).logsumexp(1) - t.log(t.tensor(len(s) * h * 2.5066282746310002, device=x.device))


def graph_attention(t, x, a, b, off, to):
    V, H, D = x.shape
    at = t.repeat_interleave(t.arange(V, device=x.device), (off[1:] - off[:-1]).long(), output_size=len(to))
    to = to.long()
    s = t.nn.functional.leaky_relu(a[at] + b[to], 0.2)
    m = t.full((V, H), float("-inf"), device=x.device).scatter_reduce(0, at[:, None].expand(-1, H), s, "amax")
    p = t.exp(s - m[at])
    z = t.zeros(V, H, device=x.device).index_add_(0, at, p)
    y = t.zeros(V, H, D, device=x.device).index_add_(0, at, p[..., None] * x[to])
    return t.nn.functional.elu(y / z.clamp(min=1e-16)[..., None]).to(x.dtype)


def equalise(t, x):
    n, l = x.shape
    h = t.zeros(n, 256, dtype=t.int32, device=x.device).scatter_add_(1, x.long(), t.ones(1, 1, dtype=t.int32, device=x.device).expand(n, l))
    c = h.cumsum(1)
    return h, (c.gather(1, x.long()).float() * 255 / l).round().to(t.uint8)


def morphology(t, x):
    return t.nn.functional.max_pool2d(x, 5, 1, 2) + t.nn.functional.max_pool2d(-x, 5, 1, 2)


def warp_affine(t, x, th):
    H, W = x.shape[2:]
    scale = t.tensor([[2 / W], [2 / H]], device=x.device)
    base = t.stack(t.meshgrid(t.arange(W, device=x.device), t.arange(H, device=x.device), indexing="xy"), 2).float()
    at = base.view(1, -1, 2) @ th[:, :, :2].mT + th[:, None, :, 2]
    grid = ((at + 0.5) * scale.T - 1).view(-1, H, W, 2)
    return t.nn.functional.grid_sample(x, grid, align_corners=False)


def fields():
    def mine(*args, **options):
        row("fields", *args, **options)

    def offsets(t, device, s):
        inner = t.randint(0, s["E"] + 1, (s["V"] - 1,), device=device).sort().values
        return t.cat([t.zeros(1, device=device), inner, t.full((1,), s["E"], device=device)])

    def theta(t, device, s):
        r = t.rand(s["N"], device=device) * 0.4 - 0.2
        turn = t.stack([t.cos(r), -t.sin(r), 5 * r, t.sin(r), t.cos(r), -3 * r], 1)
        return turn.view(-1, 2, 3)

    def cosines(t, device, s):
        k = t.arange(8, device=device)
        d = t.cos((2 * k + 1) * k[:, None] * t.pi / 16) / 2
        return t.where(k[:, None] == 0, d * 2 ** -0.5, d)

    def way(i):
        return lambda t, device, s: t.tensor([w[i] for w in WAYS], device=device)
    mine("canny_thin", "N=20 H=700 W=900", canny_thin,  # (whole numbers, which no rounding tells apart)
         made={"x": lambda t, d, s: t.randint(0, 256, (s["N"], s["H"], s["W"]), device=d)})
    mine("ssim", "N=24 H=500 W=620", ssim, positive=("x", "z"), made={"g": lambda t, d, s: t.exp(-(t.arange(11, device=d) - 5.0) ** 2 / 4.5) / 3.7592}, limit=1e-3)
    mine("bilateral", "N=12 H=540 W=700", bilateral)
    mine("gray_scott", "B=8 H=1100 W=1300", gray_scott)
    mine("boltzmann_step", "H=1500 W=2100", boltzmann_step, positive=("f",), made={"cx": way(0), "cy": way(1),
         "wt": lambda t, d, s: t.tensor([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4, device=d)})
    mine("block_dct", "N=16 H=90 W=120", block_dct, made={"d": cosines}, positive=("q",))
    mine("hadamard_rows", "M=20000 D:512", hadamard_rows, limit=2e-2)
    mine("fourier_power", "B=3000 N=1000", fourier_power, limit=1e-3)
    mine("circulant", "B=1500 N=2200", circulant)
    mine("correlation", "M=3000 N=1100", lambda t, x: t.corrcoef(x.T), limit=1e-3)
    mine("mmd", "M=3000 N=2500 D=64", mmd, limit=1e-2)
    mine("density", "M=20000 N=6000", density)
    mine("graph_attention", "V=20000 H:8 D:32 E=300000", graph_attention, compiled=False, ints={"to": "V"}, made={"off": offsets}, limit=2e-2)
    mine("equalise", "N=60 L=250000", equalise)
    mine("morphology", "N=32 H=480 W=640", morphology)
    mine("warp_affine", "N=16 C=32 H=200 W=260", warp_affine, made={"th": theta}, limit=1e-3)
