# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products as users write them, drawn by a seed: batches of small matrices, vectors, several summed indices, views, odd extents; and
those of small and odd shapes alone."""
import random

import torch
from workloads import TYPES, Workload

TOLERANCE = {"f32": 1e-4, "bf16": 1e-2, "f16": 2e-3}


class Contraction(Workload):
    """`bij,bjk->bik` with an extent for each letter. `padded`: operands are slices of tensors whose rows are so much longer."""
    kernel = "product"

    def __init__(self, part, equation, extents, dtype, padded=0):
        self.part, self.extents, self.dtype, self.padded = part, extents, dtype, padded
        self.equation = equation
        inputs, self.result = equation.split("->")
        self.factors = inputs.split(",")
        self.name = f"{equation} {' '.join(f'{i}={e}' for i, e in extents.items())} {dtype}{' rows apart' if padded else ''}"
        self.tolerance = TOLERANCE[dtype]
        summed = [i for i in extents if i not in self.result]
        params = ", ".join(f"x{n}: {dtype}[{', '.join(i.upper() for i in f)}]" for n, f in enumerate(self.factors))
        product = " * ".join(f"x{n}[{', '.join(f)}]" for n, f in enumerate(self.factors))
        value = f"sum[{', '.join(summed)}]({product})" if summed else product
        self.text = (f"def product({params}) -> (y: {dtype}[{', '.join(i.upper() for i in self.result)}]) "
                     f"{{ y[{', '.join(self.result)}] = {value} }}")

    def inputs(self, device, scale):
        def tensor(indices):
            shape = [max(1, self.extents[i] // scale) for i in indices]
            shape[-1] += self.padded
            return torch.randn(*shape, device=device).to(TYPES[self.dtype])[..., :shape[-1] - self.padded]
        return tuple(tensor(f) for f in self.factors)

    def torch(self, *tensors):
        return torch.einsum(self.equation, *tensors)

    def peers(self, device):
        """What users of matrices write in place of einsum, where there is such a form."""
        forms = {"bij,bjk->bik": torch.bmm, "bij,bkj->bik": lambda a, b: torch.bmm(a, b.mT), "ij,jk->ik": torch.mm,
                 "ij,j->i": torch.mv, "ji,j->i": lambda a, x: torch.mv(a.T, x), "i,j->ij": torch.outer}
        form = forms.get(self.equation)
        return {"torch": lambda *tensors: lambda: form(*tensors)} if form else {}

    def bytes(self, *tensors):
        return sum(x.numel() for x in tensors) * tensors[0].element_size()


def draw_contractions(seed):
    """24 of them, three of each part, as (part, workload)."""
    rng = random.Random(str(seed))
    small, middle, large = [16, 24, 32, 48, 64, 80, 96, 128, 192, 256], [64, 96, 128, 192, 256, 384, 512], [512, 768, 1024, 1536, 2048, 4096]
    types = ["bf16", "f16", "f32"]

    def odd(extents):
        return rng.choice(extents) + rng.randint(1, 7)

    def one(part, dtype):
        pick = rng.choice
        if part == "batch":
            equation = pick(["bij,bjk->bik", "bij,bkj->bik", "bji,bjk->bik", "bij,bjk->bki"])
            m, n, k = pick(small), pick(small), pick(small)
            most = max(1, min(4096, (1 << 29) // (m * n + n * k + m * k)))
            return equation, {"b": min(most, pick([1, 16, 64, 256, 1024, 4096])), "i": m, "j": k, "k": n}, 0
        if part == "odd batch":
            return pick(["bij,bjk->bik", "bij,bkj->bik"]), {"b": pick([3, 48, 192, 768]), "i": odd(small), "j": odd(small), "k": odd(small)}, 0
        if part == "vector":
            return pick(["ij,j->i", "ji,j->i", "bij,bj->bi"]), {"b": pick([4, 32]), "i": pick(large), "j": pick(large)}, 0
        if part == "outer":
            return pick(["i,j->ij", "bi,bj->bij"]), {"b": pick([4, 16]), "i": pick(large), "j": pick(large)}, 0
        if part == "several indices":
            equation, letters = pick([("abc,cde->abde", "abcde"), ("abde,dec->abc", "abdec"), ("aibc,ajbc->aij", "aibcj"), ("bij,bik->jk", "bijk"),
                                      ("aibh,ajbh->abij", "aibhj"), ("abij,ajbh->aibh", "abijh")])
            most = {"a": [2, 4, 8], "b": [4, 8, 16], "d": [4, 8, 16], "h": [64, 128]}
            return equation, {i: pick(most.get(i, middle)) for i in letters}, 0
        if part == "turned":
            return pick(["ij,jk->ki", "ji,jk->ik", "ji,kj->ik", "ij,kj->ki"]), {"i": pick(large), "j": pick(large), "k": pick(large)}, 0
        if part == "rows apart":
            return pick(["ij,jk->ik", "ij,kj->ik", "bij,bjk->bik"]), {"b": 8, "i": pick(large), "j": pick(large), "k": pick(middle)}, pick([8, 16, 64])
        return pick(["ij,jk->ik", "ij,kj->ik"]), {"i": pick(large), "j": odd(large), "k": pick(large)}, 0  # an odd sum

    rows = []
    for part in ["batch", "odd batch", "vector", "outer", "several indices", "turned", "rows apart", "odd sum"]:
        for dtype in types:
            equation, extents, padded = one(part, dtype)
            extents = {i: e for i, e in extents.items() if i in equation}
            rows.append((part, Contraction(part, equation, extents, dtype, padded)))
    return rows


def draw_small(seed):
    """24 of few rows or small matrices, as (part, workload): 1 to 64 rows beside any sum and any columns, batches of tiny matrices and of
    heads, matrices that fit a multiprocessor, views whose rows lie apart."""
    rng = random.Random(f"small {seed}")
    pick, between = rng.choice, rng.randint
    forms = {"few rows": ["ij,jk->ik", "ij,kj->ik"], "tiny batch": ["bij,bjk->bik", "bij,bkj->bik"], "heads": ["bij,bjk->bik", "bij,bkj->bik"],
             "small": ["ij,jk->ik", "ij,kj->ik"], "rows apart": ["ij,jk->ik", "ij,kj->ik", "bij,bjk->bik"]}

    def extents(part):
        if part == "few rows":
            return {"i": between(1, 64), "j": pick([512, 1000, 2048, 4096, 8192]) + between(-7, 7), "k": pick([256, 1000, 3072, 4096]) + between(-7, 7)}
        if part == "tiny batch":
            return {"b": pick([1000, 4096, 20000, 65536]), "i": between(2, 16), "j": between(2, 16), "k": between(2, 16)}
        if part == "heads":
            length, width = between(40, 300), pick([32, 40, 64, 72, 80])
            return {"b": pick([12, 48, 96, 192]), "i": length, "j": width, "k": length} if rng.random() < 0.5 else {
                "b": pick([12, 48, 96, 192]), "i": length, "j": length, "k": width}
        if part == "small":
            return {"i": between(10, 300), "j": between(10, 1000), "k": between(10, 300)}
        return {"b": pick([4, 8, 16]), "i": pick([256, 512, 1024, 2048, 4096]), "j": pick([256, 512, 1024, 2048, 4096]), "k": pick([64, 128, 192, 384, 512])}

    rows = []
    for part, number in [("few rows", 6), ("tiny batch", 4), ("heads", 4), ("small", 4), ("rows apart", 6)]:
        for n in range(number):
            equation = pick(forms[part])
            chosen = {i: e for i, e in extents(part).items() if i in equation}
            rows.append((part, Contraction(part, equation, chosen, ["bf16", "f32", "f16"][n % 3], pick([8, 16, 64]) if part == "rows apart" else 0)))
    return rows
