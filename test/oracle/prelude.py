# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The prelude, from the list in docs/language.md."""
PRELUDE = """
fn relu(x) { max(x, 0) }
fn leaky_relu(x, slope=0.01) { x if x > 0 else slope * x }
fn elu(x, alpha=1) { x if x > 0 else alpha * expm1(x) }
fn sigmoid(x) { 1 / (1 + exp(-x)) }
fn silu(x) { x / (1 + exp(-x)) }
fn softplus(x) { max(x, 0) + log1p(exp(-abs(x))) }
fn gelu(x) { 0.5 * x * (1 + erf(x * 0.7071067811865476)) }
fn gelu_tanh(x) { 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))) }
fn clamp(x, lo, hi) { min(max(x, lo), hi) }
fn softmax[j](e) { exp(e - max[j](e)) / sum[j](exp(e - max[j](e))) }
fn log_softmax[j](e) { e - max[j](e) - log(sum[j](exp(e - max[j](e)))) }
fn logsumexp[j](e) { max[j](e) if isinf(max[j](e)) else max[j](e) + log(sum[j](exp(e - max[j](e)))) }
fn var[j](e) { mean[j]((e - mean[j](e)) ** 2) }
fn layernorm[j](e, eps=1e-5) { (e - mean[j](e)) * rsqrt(var[j](e) + eps) }
fn rmsnorm[j](e, eps=1e-5) { e * rsqrt(mean[j](e ** 2) + eps) }
fn relu6(x) { clamp(x, 0, 6) }
fn hardsigmoid(x) { relu6(x + 3) / 6 }
fn hardswish(x) { x * hardsigmoid(x) }
fn hardtanh(x, lo=-1, hi=1) { clamp(x, lo, hi) }
fn softsign(x) { x / (1 + abs(x)) }
fn mish(x) { x * tanh(softplus(x)) }
fn selu(x) { 1.0507009873554805 * elu(x, alpha=1.6732632423543773) }
fn exp10(x) { pow(10, x) }
fn mse[j](x, t) { mean[j]((x - t) ** 2) }
fn huber[j](x, t, delta=1) { mean[j](0.5 * (x - t) ** 2 if abs(x - t) <= delta else delta * (abs(x - t) - 0.5 * delta)) }
fn hinge[j](x, t) { mean[j](max(1 - x * t, 0)) }
fn bce[j](p, t) { mean[j](-(t * max(log(p), -100) + (1 - t) * max(log(1 - p), -100))) }
fn bce_logits[j](x, t) { mean[j](max(x, 0) - x * t + log1p(exp(-abs(x)))) }
fn kl[j](logq, p) { sum[j](p * (log(p) - logq) if p > 0 else 0) }
fn cross_entropy[c](x, target) { logsumexp[c](x) - sum[c, c == i64(target)](x) }
fn norm1[j](e) { sum[j](abs(e)) }
fn norm2[j](e) { sqrt(sum[j](e ** 2)) }
fn norminf[j](e) { max[j](abs(e)) }
fn conv2d(x, f, n, o, h, w, stride=1, pad=0) { sum[c, r, s](x.pad(0)[n, c, h * stride + r - pad, w * stride + s - pad] * f[o, c, r, s]) }
fn max_pool2d(x, n, c, h, w, size=2, stride=2) { max[r in 0:size, s in 0:size](x[n, c, h * stride + r, w * stride + s]) }
fn mean_pool2d(x, n, c, h, w, size=2, stride=2) { mean[r in 0:size, s in 0:size](x[n, c, h * stride + r, w * stride + s]) }
fn rand_bits(seed, i=0, j=0, k=0) { philox(seed, i, j, k) }
fn rand(seed, i=0, j=0, k=0) { f32(rand_bits(seed, i, j, k) >> 8) / 16777216 }
fn dropout(x, p, seed, i=0, j=0, k=0) { x / (1 - p) if rand(seed, i, j, k) >= p else 0 }
"""
