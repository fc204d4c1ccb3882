# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of bench/unseen/windows.kc: windows, borders, resampling, neighbours and states on grids."""
from unseen_row import row


def padded(t, x, by, mode):
    return t.nn.functional.pad(x[:, None], (by, by, by, by), mode=mode)


def gaussian_blur(t, x, g):
    p = padded(t, x, 5, "reflect")
    return t.nn.functional.conv2d(t.nn.functional.conv2d(p, g[None, None, :, None]), g[None, None, None])[:, 0]


def local_norm(t, x):
    p = padded(t, x, 4, "reflect")
    m, q = (t.nn.functional.avg_pool2d(v, 9, 1)[:, 0] for v in (p, p * p))
    return (x - m) * (q - m * m).clamp(min=0).add(0.0001).rsqrt()


def wave_step(t, p, o, c):
    D, H, W = p.shape
    z = t.nn.functional.pad(p, (2,) * 6)

    def at(d, h, w):
        return z[2 + d:2 + d + D, 2 + h:2 + h + H, 2 + w:2 + w + W]
    near = at(-1, 0, 0) + at(1, 0, 0) + at(0, -1, 0) + at(0, 1, 0) + at(0, 0, -1) + at(0, 0, 1)
    far = at(-2, 0, 0) + at(2, 0, 0) + at(0, -2, 0) + at(0, 2, 0) + at(0, 0, -2) + at(0, 0, 2)
    return 2 * p - o + c * (1.5 * near - 0.15 * far - 8.1 * p)


def closing(t, x):
    d = t.nn.functional.max_pool2d(x, 3, 1, 1)
    return -t.nn.functional.max_pool2d(-d, 3, 1, 1)


def life(t, x):
    c = sum(t.roll(x, (a, b), (1, 2)).int() for a in (-1, 0, 1) for b in (-1, 0, 1)) - x.int()
    return ((c == 3) | ((c == 2) & (x == 1))).to(t.uint8)


def relative_bias(t, s, b):
    N = s.shape[2]
    i = t.arange(N, device=s.device)
    return (s.float() + b[i[:, None] - i + N - 1].permute(2, 0, 1)).softmax(3).to(s.dtype)


def heat3d(t, x):
    return x + 0.1 * (sum(t.roll(x, s, d) for d in (0, 1, 2) for s in (1, -1)) - 6 * x)


def total_variation(t, x):
    return (x[:, :, 1:] - x[:, :, :-1]).abs().sum((1, 2, 3)) + (x[..., 1:] - x[..., :-1]).abs().sum((1, 2, 3))


def kalman_gains(t, p, f, q, r):
    e = f @ p @ f.mT + q
    k = e[:, :, 0] / (e[:, 0, 0] + r)[:, None]
    return k, e - k[:, :, None] * e[:, :1]


def sinusoids(t, a, w, x):
    e = a[:, None] * w
    return (x.float() + t.cat([e.sin(), e.cos()], 1)).to(x.dtype)


def windows():
    def mine(*args, **options):
        row("windows", *args, **options)
    mine("gaussian_blur", "N=24 H=500 W=620", gaussian_blur)
    mine("local_norm", "N=24 H=500 W=620", local_norm, limit=1e-2)
    mine("wave_step", "D=200 H=260 W=300", wave_step, limit=1e-3)
    mine("heat3d", "D=200 H=260 W=300", heat3d)
    mine("closing", "N=32 H=480 W=640", closing)
    mine("life", "N=16 H=1000 W=1200", life, made={"x": lambda t, d, s: t.randint(0, 2, (s["N"], s["H"], s["W"]), device=d)})
    mine("relative_bias", "B=40 H=8 N=197", relative_bias, limit=2e-2)
    mine("neighbour_max", "V=40000 D=128", lambda t, x, k: x[k.long()].amax(1) - x, ints={"k": "V"}, limit=2e-2)
    mine("upsample_bilinear", "N=16 C=32 H=100 W=120", lambda t, x: t.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"), limit=1e-3)
    mine("total_variation", "N=24 C=3 H=500 W=620", total_variation, limit=1e-3)
    mine("kalman_gains", "B=100000", kalman_gains, positive=("p", "q", "r"), limit=1e-2)
    mine("sinusoids", "B=20000 E=512", sinusoids, limit=2e-2)
