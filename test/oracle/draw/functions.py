# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of one's own, with names that meet those outside, and the prelude's."""
from ..element_types import TYPES
from .expressions import STORED, Scope, access, expression
from .inputs import floats, positions, scores


def functions(b):
    kind = b.pick("f32", "i32", "f32", "i64")
    n, k = b.size("N"), b.size("K")
    left = [("i", n)]
    shape = b.pick("scalar", "let", "typed", "reduce", "shadow", "nested", "named", "result", "own", "bracket", "tensor", "pair")
    scope = Scope(b, left, reductions=1)
    inner = Scope(b, [*left, ("k", k)], reductions=0)
    argument = lambda: expression(scope, kind, 1)
    alone = lambda: access(inner, b.pick(*STORED[kind]), force="k")
    op = lambda: b.pick("+", "-", "*")
    if shape == "scalar":  # a parameter named like an index of the caller
        b.functions.append(f"fn g(i, a) {{ i {op()} a * i }}")
        text = f"g({argument()}, {argument()})"
    elif shape == "let":
        b.functions.append(f"fn g(a) {{ let i = a + 1\n  let a2 = i {op()} a\n  a2 {op()} i }}")
        text = f"g({argument()})"
    elif shape == "typed":
        t = b.pick("bf16", "f16", "f8e4m3") if kind == "f32" else kind
        b.functions.append(f"fn g(a: {t}, b) {{ a {op()} b }}")
        text = f"g({argument()}, {argument()})"
    elif shape == "result":
        t = b.pick("bf16", "f16", "f8e5m2") if kind == "f32" else kind
        b.functions.append(f"fn g(a, b) -> {t} {{ a {op()} b }}")
        text = f"g({argument()}, {argument()}) {op()} {argument()}"
    elif shape == "reduce":
        r = b.pick("sum", "max", "min")
        b.functions.append(f"fn g[j](e) {{ {r}[j](e {op()} {b.pick('e', '1')}) }}")
        text = f"g[k]({alone()})"
    elif shape == "own":  # reduces an index of the function's own beside the caller's
        b.functions.append("fn g[j](e) { sum[j, k in 0:2](e * " + ("f32(k + 1)" if kind == "f32" else f"{kind}(k + 1)") + ") }")
        text = f"g[k]({alone()})"
    elif shape == "shadow":  # the function's index has the name of another one of the caller
        r = b.pick("sum", "max", "min")
        x = b.tensor(kind, [n, k])
        b.functions.append(f"fn g[i](e, k) {{ {r}[i](e) {op()} k }}")
        text = f"g[k]({x}[i, k], {argument()})"
    elif shape == "nested":
        b.functions.append(f"fn h[j](e, a) {{ sum[j](e {op()} a) }}")
        b.functions.append("fn g[i](e) { h[i](e, max[i](e)) }")
        text = f"g[k]({alone()})"
    elif shape == "bracket":  # ranges and conditions of the call
        b.functions.append(f"fn h[m](e) {{ {b.pick('sum', 'max')}[m](e {op()} 1) }}")
        b.functions.append(f"fn g[j](e) {{ {b.pick('h[j](e)', 'sum[j](e) - min[j](e)', 'h[j, j > 0](e)', 'sum[j, l in 0:2](e)')} }}")
        entry = b.pick(f"k in 0:{k}", f"k in 1:{k}", f"0 < k <= {k} - 1", f"k, {access(inner, 'bool', force='k')}", "k, k % 2 == 0", "k, k != i", f"k in {b.scalar('i32', positions(TYPES['i32']))}:{k}")
        text = f"g[{entry}]({alone()})"
    elif shape == "pair":  # several indices for one parameter
        b.functions.append(f"fn g[j](e) {{ sum[j](e) {op()} max[j](e) }}")
        x = b.tensor(kind, [n, k])
        text = f"g[{b.pick('k, l', 'l, k', 'l, k, k < 2', f'k in 0:{k}, l')}]({x}[l, k] {op()} {access(scope, kind)})"
    elif shape == "tensor":
        x = b.tensor(kind, [n, k])
        b.functions.append(f"fn h(t: {kind}[A, B], i, j) {{ t.edge[i, j + B // 2] }}")
        b.functions.append(f"fn g(t, i) {{ sum[k](t[i, k] {op()} {b.pick('1', 't[i, k]')}) }}")
        text = f"g({x}, i)" if b.chance(60) else f"{b.pick('sum', 'max')}[k in 0:{b.size('K', least=1)}](h({x}, i, k))"
    else:  # replaces one of the prelude
        b.functions.append(f"fn relu(x) {{ x {op()} 3 }}")
        text = f"relu({argument()})"
    y = b.tensor(kind, [n], "out")
    b.say(f"{y}[i] = {text}")


def prelude(b):
    m, n = b.size("M"), b.size("N")
    t = b.pick("f32", "f32", "bf16", "f64")
    x, flag = b.tensor(t, [m, n], pool=b.pick(floats(TYPES[t]), floats(TYPES[t], True), scores(TYPES[t]))), b.tensor("bool", [m])
    rows = b.pick("logsumexp", "softmax", "log_softmax", "logsumexp", "layernorm", "rmsnorm", "var", "logsumexp", "clamp", "relu", "leaky_relu", "elu", "sigmoid", "silu",
                  "softplus", "gelu", "gelu_tanh", "relu6", "hardsigmoid", "hardswish", "hardtanh", "softsign", "mish", "selu", "norm1", "norm2", "norminf",
                  "loss", "rand", "popcount")
    e = b.pick(f"{x}[i, k]", f"({x}[i, k] if {flag}[i] else -inf)", f"{x}[i, k]", f"({x}[i, k] if k <= i else -inf)", f"({x}[i, k] if k % 2 == 1 else -inf)")
    out = "f64" if t == "f64" else "f32"
    if rows == "rand":
        return _random(b)
    if rows == "popcount":
        scope = Scope(b, [("i", m)], reductions=0)
        return b.say(f"{b.tensor('i32', [m], 'out')}[i] = popcount({expression(scope, b.pick('i32', 'i64', 'u32', 'u64', 'bool'), 1)})")
    if rows == "loss":
        loss = b.pick("mse", "huber", "hinge", "bce_logits")
        t2 = b.tensor(t, [m, n], pool=floats(TYPES[t]))
        y = b.tensor(out, [m], "out")
        return b.say(f"{y}[i] = {loss}[k]({x}[i, k], {t2}[i, k])" if b.chance(70) else f"{y}[i] = cross_entropy[k]({x}[i, k], {b.tensor('i32', [m], pool=positions(TYPES['i32']))}[i])")
    if rows in ("logsumexp", "var", "norm1", "norm2", "norminf"):
        y = b.tensor(out, [m], "out")
        b.say(f"{y}[i] = {rows}[k]({e})")
        return
    y = b.tensor(out, [m, n], "out")
    b.say(f"{y}[i, k] = " + (f"{rows}[k]({e})" if rows in ("softmax", "log_softmax", "layernorm", "rmsnorm") else
                              f"clamp({e}, {b.pick('-1, 1', '0, 0.5')})" if rows == "clamp" else f"{rows}({e})"))


def _random(b):
    left = [("i", b.size("M")), ("j", b.size("N"))]
    scope = Scope(b, left, reductions=0)
    seed = b.scalar(b.pick("i32", "u64", "i64", "u32"))
    counters = b.pick("i", "i, j", "i, j, 3", "j, k=i", f"i * 4294967297, {access(scope, 'i32')}")
    what = b.pick("rand", "rand_bits", "dropout")
    dropped = f"{access(scope, 'f32')}, 0.25, " if what == "dropout" else ""
    y = b.tensor("u32" if what == "rand_bits" else "f32", [d for _, d in left], "out")
    b.say(f"{y}[i, j] = {what}({dropped}{seed}, {counters})")
