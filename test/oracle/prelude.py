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
"""
