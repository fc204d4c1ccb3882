// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/ArtifactCheck.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace kernelc {
namespace {

class Checker {
public:
  explicit Checker(const Kernel &k) : kernel_(k) {}

  absl::Status run() {
    where_ = absl::StrCat("kernel '", kernel_.name, "'");
    if (kernel_.name.empty())
      return fail("has no name");
    if (kernel_.params.size() > ArtifactLimits::kMaxParams)
      return fail("has too many parameters");
    if (kernel_.sizes.size() > ArtifactLimits::kMaxSizes)
      return fail("has too many sizes");
    if (kernel_.variants.size() > ArtifactLimits::kMaxVariants)
      return fail("has too many variants");
    std::string kernel = where_;
    for (const Param &p : kernel_.params) {
      where_ = absl::StrCat(kernel, ", parameter '", p.name, "'");
      if (absl::Status s = param(p); !s.ok())
        return s;
    }
    for (const SizeRecipe &r : kernel_.sizes) {
      where_ = absl::StrCat(kernel, ", size '", r.name, "'");
      if (absl::Status s = recipe(r); !s.ok())
        return s;
    }
    where_ = kernel;
    for (const SizeExpr &e : kernel_.quotients)
      if (absl::Status s = expr(e, "quotient"); !s.ok())
        return s;
    for (const Require &r : kernel_.requires_) {
      where_ = absl::StrCat(kernel, ", require '", r.text, "'");
      if (absl::Status s = expr(r.condition, "condition"); !s.ok())
        return s;
    }
    for (const Variant &v : kernel_.variants) {
      where_ = absl::StrCat(kernel, ", variant '", v.name, "'");
      if (absl::Status s = variant(v); !s.ok())
        return s;
    }
    return absl::OkStatus();
  }

private:
  template <typename... Parts> absl::Status fail(const Parts &...parts) {
    return absl::InvalidArgumentError(absl::StrCat(where_, ": ", parts...));
  }

  bool isTensor(int p) const { return p >= 0 && size_t(p) < kernel_.params.size() && kernel_.params[p].kind != ParamKind::Scalar; }

  absl::Status expr(const SizeExpr &e, absl::string_view what) {
    if (e.terms().size() > ArtifactLimits::kMaxExprTerms)
      return fail(what, " has too many terms");
    int depth = 0;
    for (const SizeTerm &t : e.terms()) {
      if (t.op == SizeTerm::Size && (t.value < 0 || size_t(t.value) >= kernel_.sizes.size()))
        return fail(what, " refers to size number ", t.value, ", and the kernel has ", kernel_.sizes.size());
      if (t.op == SizeTerm::Stride) {
        int64_t p = t.value >> 8, d = t.value & 0xff;
        if (t.value < 0 || p > INT32_MAX || !isTensor(int(p)) || size_t(d) >= kernel_.params[p].dims.size())
          return fail(what, " refers to stride ", d, " of parameter ", p);
      }
      if (t.op > SizeTerm::Not)
        return fail(what, " has an unknown operation");
      int operands = t.op <= SizeTerm::SmCount ? 0 : t.op == SizeTerm::Not ? 1 : 2;
      if (depth < operands)
        return fail(what, " lacks an operand");
      depth += 1 - operands;
      if (depth > ArtifactLimits::kMaxExprDepth)
        return fail(what, " is nested too deeply");
    }
    if (!e.empty() && depth != 1)
      return fail(what, " leaves ", depth, " values");
    return absl::OkStatus();
  }

  absl::Status param(const Param &p) {
    if (p.kind == ParamKind::Scalar && !p.dims.empty())
      return fail("a scalar has no dimensions");
    if (p.dims.size() > ArtifactLimits::kMaxRank)
      return fail("rank ", p.dims.size(), " is above ", ArtifactLimits::kMaxRank);
    for (const SizeExpr &d : p.dims)
      if (absl::Status s = expr(d, "dimension"); !s.ok())
        return s;
    return absl::OkStatus();
  }

  absl::Status recipe(const SizeRecipe &r) {
    if (r.param < 0)
      return absl::OkStatus();
    if (!isTensor(r.param))
      return fail("comes from parameter ", r.param, ", which is no tensor");
    if (r.dim < 0 || size_t(r.dim) >= kernel_.params[r.param].dims.size())
      return fail("comes from dimension ", r.dim, " of rank ", kernel_.params[r.param].dims.size());
    // x: f32[5 - N] has -1, by which the smallest integer cannot be divided: no extent less an offset is that.
    return r.scale != 0 ? absl::OkStatus() : fail("scale is 0");
  }

  absl::Status variant(const Variant &v) {
    if (v.params.size() != kernel_.params.size())
      return fail("has layout guards for ", v.params.size(), " of ", kernel_.params.size(), " parameters");
    for (size_t i = 0; i < v.params.size(); ++i) {
      std::vector<int> order = v.params[i].order, all(order.empty() ? 0 : kernel_.params[i].dims.size());
      std::iota(all.begin(), all.end(), 0);
      std::sort(order.begin(), order.end());
      if (order != all || (!order.empty() && kernel_.params[i].kind != ParamKind::Input))
        return fail("has no order of the dims of parameter ", i);
      if (v.params[i].pitch != 16 && v.params[i].pitch != 128)
        return fail("has rows of parameter ", i, " ", v.params[i].pitch, " bytes apart; 16 and 128 exist");
    }
    if (v.launches.size() > ArtifactLimits::kMaxLaunches)
      return fail("has too many launches");
    for (auto [e, what] : {std::pair(&v.guard, "guard"), {&v.workspaceBytes, "workspace"}})
      if (absl::Status s = expr(*e, what); !s.ok())
        return s;
    if (v.workspaces.size() > ArtifactLimits::kMaxWorkspaces)
      return fail("has too many workspaces");
    for (const Workspace &w : v.workspaces)
      for (auto [e, what] : {std::pair(&w.byteOffset, "a workspace's offset"), {&w.bytes, "a workspace's size"}})
        if (absl::Status s = expr(*e, what); !s.ok())
          return s;
    std::string variant = where_;
    for (size_t i = 0; i < v.launches.size(); ++i) {
      where_ = absl::StrCat(variant, ", launch ", i);
      if (absl::Status s = launch(v.launches[i]); !s.ok())
        return s;
    }
    return absl::OkStatus();
  }

  absl::Status launch(const Launch &l) {
    if (l.entry.empty())
      return fail("has no entry");
    if (l.block < 1 || l.block > 1024)
      return fail("block of ", l.block, " threads is outside 1 to 1024");
    if (l.cluster < 1 || l.cluster > 16)
      return fail("cluster of ", l.cluster, " blocks is outside 1 to 16");
    if (l.args.size() > ArtifactLimits::kMaxLaunchArgs)
      return fail("has too many arguments");
    if (absl::Status s = expr(l.grid, "grid"); !s.ok())
      return s;
    if (absl::Status s = expr(l.sharedBytes, "shared bytes"); !s.ok())
      return s;
    std::string launch = where_;
    for (size_t i = 0; i < l.args.size(); ++i) {
      where_ = absl::StrCat(launch, ", argument ", i);
      absl::Status s = std::visit([&](const auto &a) { return arg(a); }, l.args[i]);
      if (!s.ok())
        return s;
    }
    return absl::OkStatus();
  }

  absl::Status arg(const PointerArg &a) {
    if (a.param != -1 && !isTensor(a.param))
      return fail("no tensor parameter ", a.param);
    return expr(a.byteOffset, "offset");
  }
  absl::Status arg(const ScalarArg &a) {
    if (a.param < 0 || size_t(a.param) >= kernel_.params.size() || isTensor(a.param))
      return fail("no scalar parameter ", a.param);
    return absl::OkStatus();
  }
  absl::Status arg(const SizeArg &a) {
    if (a.bits != 32 && a.bits != 64)
      return fail("an integer argument has 32 or 64 bits, not ", a.bits);
    return expr(a.value, "value");
  }
  absl::Status arg(const TensorMapArg &a) {
    if (absl::Status s = arg(a.base); !s.ok())
      return s;
    size_t rank = a.dims.size();
    if (rank < 1 || rank > 5)
      return fail("a tensor map has rank 1 to 5, not ", rank);
    if (a.strides.size() != rank - 1 || a.box.size() != rank || a.elementStrides.size() != rank)
      return fail("a tensor map of rank ", rank, " has ", a.strides.size(), " strides, ", a.box.size(), " box extents and ",
                  a.elementStrides.size(), " element strides");
    if (elementBits(a.type) < 8)
      return fail("a tensor map packs ", elementTypeName(a.type), " as u8");
    for (size_t i = 0; i < rank; ++i) {
      if (absl::Status s = expr(a.box[i], "box extent"); !s.ok())
        return s;
      if (int64_t extent; a.box[i].isConstant(&extent) && (extent < 1 || extent > 256)) // (others are checked at launches)
        return fail("box extent ", extent, " is outside 1 to 256");
      if (a.elementStrides[i] < 1 || a.elementStrides[i] > 8)
        return fail("element stride ", a.elementStrides[i], " is outside 1 to 8");
      if (absl::Status s = expr(a.dims[i], "tensor map extent"); !s.ok())
        return s;
      if (i + 1 < rank)
        if (absl::Status s = expr(a.strides[i], "tensor map stride"); !s.ok())
          return s;
    }
    int64_t columns = 0;
    if (!a.box[0].isConstant(&columns))
      return fail("the innermost box extent depends on sizes");
    int64_t inner = columns * elementBits(a.type) / 8;
    if (inner % 16)
      return fail("the innermost box extent is ", inner, " bytes, not a multiple of 16");
    if (a.swizzleBytes != 0 && a.swizzleBytes != 32 && a.swizzleBytes != 64 && a.swizzleBytes != 128)
      return fail("no swizzle of ", a.swizzleBytes, " bytes");
    if (a.swizzleBytes && inner > a.swizzleBytes)
      return fail("the innermost box extent is ", inner, " bytes, more than the swizzle of ", a.swizzleBytes);
    return absl::OkStatus();
  }

  const Kernel &kernel_;
  std::string where_;
};

} // namespace

absl::Status checkKernel(const Kernel &kernel) { return Checker(kernel).run(); }

} // namespace kernelc
