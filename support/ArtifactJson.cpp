// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/ArtifactJson.h"

#include <algorithm>
#include <limits>

#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "support/ArtifactCheck.h"
#include "support/Json.h"

namespace kernelc {
namespace {

// Names of enumerators, in their order.
constexpr const char *kParamKinds[] = {"input", "output", "inout", "scalar"};
constexpr const char *kLayouts[] = {"dense", "inner_unit", "any"};
constexpr const char *kOps[] = {"const", "size", "stride", "sm_count", "+", "-",  "*",   "//", "ceildiv", "%",
                                "min",   "max",  "==",     "!=",       "<", "<=", "and", "or", "not"};
static_assert(std::size(kOps) == SizeTerm::Not + 1);

template <size_t N> std::optional<int> findName(const char *const (&names)[N], absl::string_view name) {
  for (size_t i = 0; i < N; ++i)
    if (name == names[i])
      return int(i);
  return std::nullopt;
}

//===- Writing -----------------------------------------------------------------===//

Json toJson(const SourceLoc &l) { return JsonArray{Json(l.file), Json(l.line), Json(l.column)}; }

/// Postfix: numbers are constants, "size:0", "stride:1:0" and "sm_count" operands,
/// all else operations.
Json toJson(const SizeExpr &e) {
  JsonArray terms;
  for (const SizeTerm &t : e.terms()) {
    if (t.op == SizeTerm::Const)
      terms.push_back(Json(t.value));
    else if (t.op == SizeTerm::Size)
      terms.push_back(Json(absl::StrCat("size:", t.value)));
    else if (t.op == SizeTerm::Stride)
      terms.push_back(Json(absl::StrCat("stride:", t.value >> 8, ":", t.value & 0xff)));
    else
      terms.push_back(Json(kOps[t.op]));
  }
  return terms;
}

Json toJson(uint32_t v) { return Json(v); }
Json toJson(const std::string &s) { return Json(s); }
Json toJson(const Param &p);
Json toJson(const SizeRecipe &r);
Json toJson(const Require &r);
Json toJson(const LaunchArg &a);
Json toJson(const Launch &l);
Json toJson(const ParamGuard &g);
Json toJson(const Workspace &w);
Json toJson(const Variant &v);
Json toJson(const Kernel &k);

template <typename Range> Json listToJson(const Range &range) {
  JsonArray a;
  for (const auto &x : range)
    a.push_back(toJson(x));
  return a;
}

Json toJson(const Param &p) {
  return JsonObject{{"name", p.name},
                    {"type", Json(elementTypeName(p.type))},
                    {"kind", kParamKinds[int(p.kind)]},
                    {"dims", listToJson(p.dims)},
                    {"loc", toJson(p.loc)}};
}

Json toJson(const SizeRecipe &r) {
  JsonObject o = {{"name", r.name}, {"param", r.param}, {"dim", r.dim}, {"scale", r.scale}, {"offset", r.offset}};
  if (r.constant)
    o.emplace_back("constant", *r.constant);
  return o;
}

Json toJson(const Require &r) { return JsonObject{{"condition", toJson(r.condition)}, {"text", r.text}, {"loc", toJson(r.loc)}}; }

Json toJson(const PointerArg &a) { return JsonObject{{"kind", "pointer"}, {"param", a.param}, {"offset", toJson(a.byteOffset)}}; }
Json toJson(const ScalarArg &a) { return JsonObject{{"kind", "scalar"}, {"param", a.param}}; }
Json toJson(const SizeArg &a) { return JsonObject{{"kind", "size"}, {"value", toJson(a.value)}, {"bits", a.bits}}; }
/// Extents of boxes: numbers, and expressions where they depend on sizes.
Json boxToJson(const std::vector<SizeExpr> &box) {
  JsonArray extents;
  for (const SizeExpr &e : box)
    if (int64_t number; e.isConstant(&number))
      extents.push_back(Json(number));
    else
      extents.push_back(toJson(e));
  return extents;
}
Json toJson(const TensorMapArg &a) {
  return JsonObject{{"kind", "tensor_map"},
                    {"param", a.base.param},
                    {"offset", toJson(a.base.byteOffset)},
                    {"type", Json(elementTypeName(a.type))},
                    {"dims", listToJson(a.dims)},
                    {"strides", listToJson(a.strides)},
                    {"box", boxToJson(a.box)},
                    {"element_strides", listToJson(a.elementStrides)},
                    {"swizzle", a.swizzleBytes},
                    {"rounds_to_tf32", a.roundsToTf32}};
}
Json toJson(const LaunchArg &a) {
  return std::visit([](const auto &x) { return toJson(x); }, a);
}

Json toJson(const Launch &l) {
  return JsonObject{{"entry", l.entry},           {"grid", toJson(l.grid)},   {"block", l.block},
                    {"cluster", l.cluster},       {"dependent", l.dependent}, {"shared_bytes", toJson(l.sharedBytes)},
                    {"args", listToJson(l.args)}, {"schedule", l.schedule}};
}

Json toJson(const ParamGuard &g) {
  JsonObject o{{"layout", kLayouts[int(g.layout)]}, {"alignment", g.alignment}};
  if (g.layout == LayoutClass::InnerUnit)
    o.push_back({"pitch", g.pitch});
  if (!g.order.empty())
    o.push_back({"order", listToJson(g.order)});
  return o;
}

Json toJson(const Workspace &w) { return JsonObject{{"name", w.name}, {"offset", toJson(w.byteOffset)}, {"bytes", toJson(w.bytes)}}; }

Json toJson(const Variant &v) {
  return JsonObject{{"name", v.name},
                    {"target", v.target},
                    {"guard", toJson(v.guard)},
                    {"guard_text", v.guardText},
                    {"params", listToJson(v.params)},
                    {"workspace_bytes", toJson(v.workspaceBytes)},
                    {"workspaces", listToJson(v.workspaces)},
                    {"launches", listToJson(v.launches)},
                    {"remarks", listToJson(v.remarks)},
                    {"cuda", v.cudaText}};
}

Json toJson(const Kernel &k) {
  JsonObject o{{"name", k.name},
               {"loc", toJson(k.loc)},
               {"params", listToJson(k.params)},
               {"sizes", listToJson(k.sizes)},
               {"requires", listToJson(k.requires_)},
               {"variants", listToJson(k.variants)}};
  if (!k.quotients.empty())
    o.emplace_back("quotients", listToJson(k.quotients));
  return o;
}

//===- Reading -----------------------------------------------------------------===//

/// Remembers the first thing that is wrong and where.
struct Errors {
  std::string first;
  bool add(const std::string &path, absl::string_view what) {
    if (first.empty())
      first = absl::StrCat(path.empty() ? "artifact" : path, ": ", what);
    return false;
  }
};

/// A value, and the way to it, which only messages write out. Reads give neutral values after an error. Outlived by the node that it
/// is part of.
class Node {
public:
  Node(const Json *json, Errors *errors) : json_(json), errors_(errors) {}
  Node(const Json *json, const Node &whole, const char *member) : json_(json), errors_(whole.errors_), whole_(&whole), member_(member) {}
  Node(const Json *json, const Node &whole, size_t element) : json_(json), errors_(whole.errors_), whole_(&whole), element_(element) {}

  bool fail(absl::string_view what) const { return errors_->first.empty() && errors_->add(path(), what); }
  bool expected(absl::string_view what) const {
    return fail(absl::StrCat("expected ", what, ", got ", json_ ? json_->kindName() : "nothing"));
  }

  int64_t integer(int64_t low, int64_t high) const {
    const int64_t *v = json_ ? json_->asInt() : nullptr;
    if (!v || *v < low || *v > high) {
      expected(absl::StrCat("an integer from ", low, " to ", high));
      return low;
    }
    return *v;
  }
  int64_t anyInteger() const { return integer(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()); }
  bool boolean() const {
    const bool *v = json_ ? json_->asBool() : nullptr;
    if (!v)
      expected("true or false");
    return v && *v;
  }
  std::string string() const {
    const std::string *s = json_ ? json_->asString() : nullptr;
    if (!s)
      expected("a string");
    return s ? *s : "";
  }
  template <size_t N> int name(const char *const (&names)[N]) const {
    std::string s = string();
    std::optional<int> i = findName(names, s);
    if (!i)
      fail(absl::StrCat("unknown name '", s, "'"));
    return i.value_or(0);
  }
  ElementType elementType() const {
    std::string s = string();
    std::optional<ElementType> t = findElementType(s);
    if (!t)
      fail(absl::StrCat("unknown element type '", s, "'"));
    return t.value_or(ElementType::f32);
  }
  /// Reads each item with `read`.
  template <typename T, typename Read> std::vector<T> list(size_t limit, Read read) const {
    std::vector<T> items;
    const JsonArray *a = json_ ? json_->asArray() : nullptr;
    if (!a || a->size() > limit) {
      expected(absl::StrCat("an array of at most ", limit, " items"));
      return items;
    }
    items.reserve(a->size());
    for (size_t i = 0; i < a->size(); ++i)
      items.push_back(read(Node(&(*a)[i], *this, i)));
    return items;
  }
  const Json *json() const { return json_; }
  std::string path() const {
    if (!whole_)
      return "";
    std::string before = whole_->path();
    if (!member_)
      return absl::StrCat(before, "[", element_, "]");
    return before.empty() ? member_ : absl::StrCat(before, ".", member_);
  }
  Errors *errors() const { return errors_; }

private:
  const Json *json_;
  Errors *errors_;
  const Node *whole_ = nullptr;
  const char *member_ = nullptr; ///< else an element
  size_t element_ = 0;
};

/// An object of which every member must be asked for.
class ObjectReader {
public:
  explicit ObjectReader(const Node &node) : node_(node) {
    if (!node.json() || !node.json()->asObject())
      node.expected("an object");
  }
  ~ObjectReader() {
    if (const JsonObject *o = node_.json() ? node_.json()->asObject() : nullptr; o && used_ < o->size())
      for (const auto &[name, value] : *o)
        if (std::none_of(names_.begin(), names_.end(), [&name = name](const char *n) { return name == n; }))
          node_.fail(absl::StrCat("unknown member '", name, "'"));
  }
  Node operator[](const char *name) {
    const Json *v = node_.json() ? node_.json()->find(name) : nullptr;
    if (v) {
      ++used_;
      names_.push_back(name);
    }
    return Node(v, node_, name);
  }
  bool has(const char *name) const { return node_.json() && node_.json()->find(name); }

private:
  Node node_;
  size_t used_ = 0;
  absl::InlinedVector<const char *, 16> names_; ///< asked for
};

SizeTerm readTerm(const Node &n) {
  if (n.json()->asInt())
    return {SizeTerm::Const, n.anyInteger()};
  std::string s = n.string();
  absl::string_view rest = s;
  int64_t index = 0, dim = 0;
  if (absl::ConsumePrefix(&rest, "size:")) {
    if (!absl::SimpleAtoi(rest, &index))
      n.fail("malformed size operand");
    return {SizeTerm::Size, index};
  }
  if (absl::ConsumePrefix(&rest, "stride:")) {
    std::vector<absl::string_view> parts = absl::StrSplit(rest, ':');
    if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &index) || !absl::SimpleAtoi(parts[1], &dim) || index < 0 || index > INT32_MAX ||
        dim < 0 || dim > 255) {
      n.fail("malformed stride operand");
      return {};
    }
    return {SizeTerm::Stride, index << 8 | dim};
  }
  int op = n.name(kOps);
  if (op < SizeTerm::SmCount)
    n.fail("operand without its number");
  return {SizeTerm::Op(op), 0};
}

SizeExpr readExpr(const Node &n) { return SizeExpr(n.list<SizeTerm>(ArtifactLimits::kMaxExprTerms, readTerm)); }
std::vector<SizeExpr> readExprs(const Node &n) { return n.list<SizeExpr>(ArtifactLimits::kMaxRank, readExpr); }

/// A number, or an expression.
SizeExpr readExtent(const Node &n) { return n.json() && n.json()->asInt() ? SizeExpr(*n.json()->asInt()) : readExpr(n); }

constexpr int64_t kInt32 = std::numeric_limits<int32_t>::max();
int readInt(const Node &n) { return int(n.integer(-1, kInt32)); }
uint32_t readUnsigned(const Node &n) { return uint32_t(n.integer(0, kInt32)); }
std::vector<uint32_t> readUnsigneds(const Node &n) { return n.list<uint32_t>(ArtifactLimits::kMaxRank, readUnsigned); }

SourceLoc readLoc(const Node &n) {
  const JsonArray *a = n.json() ? n.json()->asArray() : nullptr;
  if (!a || a->size() != 3 || !(*a)[0].asString() || !(*a)[1].asInt() || !(*a)[2].asInt()) {
    n.expected("a location [file, line, column]");
    return {};
  }
  auto position = [&](size_t i) { return int(Node(&(*a)[i], n, i).integer(0, kInt32)); };
  return {*(*a)[0].asString(), position(1), position(2)};
}

Param readParam(const Node &n) {
  ObjectReader o(n);
  Param p;
  p.name = o["name"].string();
  p.type = o["type"].elementType();
  p.kind = ParamKind(o["kind"].name(kParamKinds));
  p.dims = readExprs(o["dims"]);
  p.loc = readLoc(o["loc"]);
  return p;
}

SizeRecipe readRecipe(const Node &n) {
  ObjectReader o(n);
  SizeRecipe r;
  r.name = o["name"].string();
  r.param = readInt(o["param"]);
  r.dim = readInt(o["dim"]);
  r.scale = o["scale"].anyInteger();
  r.offset = o["offset"].anyInteger();
  if (o.has("constant"))
    r.constant = o["constant"].anyInteger();
  return r;
}

Require readRequire(const Node &n) {
  ObjectReader o(n);
  Require r;
  r.condition = readExpr(o["condition"]);
  r.text = o["text"].string();
  r.loc = readLoc(o["loc"]);
  return r;
}

LaunchArg readArg(const Node &n) {
  ObjectReader o(n);
  std::string kind = o["kind"].string();
  auto pointer = [&] {
    PointerArg p;
    p.param = readInt(o["param"]);
    p.byteOffset = readExpr(o["offset"]);
    return p;
  };
  if (kind == "pointer")
    return pointer();
  if (kind == "scalar")
    return ScalarArg{readInt(o["param"])};
  if (kind == "size") {
    SizeArg a;
    a.value = readExpr(o["value"]);
    a.bits = readInt(o["bits"]);
    return a;
  }
  if (kind != "tensor_map")
    n.fail(absl::StrCat("unknown kind of argument '", kind, "'"));
  TensorMapArg a;
  a.base = pointer();
  a.type = o["type"].elementType();
  a.dims = readExprs(o["dims"]);
  a.strides = readExprs(o["strides"]);
  a.box = o["box"].list<SizeExpr>(ArtifactLimits::kMaxRank, readExtent);
  a.elementStrides = readUnsigneds(o["element_strides"]);
  a.swizzleBytes = readInt(o["swizzle"]);
  a.roundsToTf32 = o["rounds_to_tf32"].boolean();
  return a;
}

Launch readLaunch(const Node &n) {
  ObjectReader o(n);
  Launch l;
  l.entry = o["entry"].string();
  l.grid = readExpr(o["grid"]);
  l.block = readUnsigned(o["block"]);
  l.cluster = readUnsigned(o["cluster"]);
  l.dependent = o["dependent"].boolean();
  l.sharedBytes = readExpr(o["shared_bytes"]);
  l.args = o["args"].list<LaunchArg>(ArtifactLimits::kMaxLaunchArgs, readArg);
  l.schedule = o["schedule"].string();
  return l;
}

ParamGuard readGuard(const Node &n) {
  ObjectReader o(n);
  ParamGuard g;
  g.layout = LayoutClass(o["layout"].name(kLayouts));
  g.alignment = readUnsigned(o["alignment"]);
  if (o.has("pitch"))
    g.pitch = readUnsigned(o["pitch"]);
  if (o.has("order"))
    g.order = o["order"].list<int>(ArtifactLimits::kMaxRank, [](const Node &d) { return int(readUnsigned(d)); });
  return g;
}

Workspace readWorkspace(const Node &n) {
  ObjectReader o(n);
  Workspace w;
  w.name = o["name"].string();
  w.byteOffset = readExpr(o["offset"]);
  w.bytes = readExpr(o["bytes"]);
  return w;
}

Variant readVariant(const Node &n) {
  ObjectReader o(n);
  Variant v;
  v.name = o["name"].string();
  v.target = o["target"].string();
  v.guard = readExpr(o["guard"]);
  v.guardText = o["guard_text"].string();
  v.params = o["params"].list<ParamGuard>(ArtifactLimits::kMaxParams, readGuard);
  v.workspaceBytes = readExpr(o["workspace_bytes"]);
  v.workspaces = o["workspaces"].list<Workspace>(ArtifactLimits::kMaxWorkspaces, readWorkspace);
  v.launches = o["launches"].list<Launch>(ArtifactLimits::kMaxLaunches, readLaunch);
  v.remarks = o["remarks"].list<std::string>(100000, [](const Node &r) { return r.string(); });
  v.cudaText = o["cuda"].string();
  return v;
}

Kernel readKernel(const Node &n) {
  ObjectReader o(n);
  Kernel k;
  k.name = o["name"].string();
  k.loc = readLoc(o["loc"]);
  k.params = o["params"].list<Param>(ArtifactLimits::kMaxParams, readParam);
  k.sizes = o["sizes"].list<SizeRecipe>(ArtifactLimits::kMaxSizes, readRecipe);
  if (o.has("quotients"))
    k.quotients = o["quotients"].list<SizeExpr>(100000, readExpr);
  k.requires_ = o["requires"].list<Require>(100000, readRequire);
  k.variants = o["variants"].list<Variant>(ArtifactLimits::kMaxVariants, readVariant);
  return k;
}

} // namespace

absl::StatusOr<std::string> artifactToJson(absl::Span<const Kernel> kernels, int indent) {
  for (const Kernel &k : kernels)
    if (absl::Status s = checkKernel(k); !s.ok())
      return s;
  return printJson(JsonObject{{"kernelc_artifact", kArtifactVersion}, {"kernels", listToJson(kernels)}}, indent);
}

absl::StatusOr<std::vector<Kernel>> artifactFromJson(absl::string_view text) {
  absl::StatusOr<Json> json = parseJson(text);
  if (!json.ok())
    return json.status();
  Errors errors;
  std::vector<Kernel> kernels;
  {
    ObjectReader o(Node(&*json, &errors));
    if (const Json *version = json->find("kernelc_artifact"); version && version->asInt() && *version->asInt() != kArtifactVersion)
      return absl::InvalidArgumentError(absl::StrCat("the artifact has version ", *version->asInt(), "; this kernelc reads version ",
                                                     kArtifactVersion, "; compile it again"));
    o["kernelc_artifact"].integer(kArtifactVersion, kArtifactVersion);
    kernels = o["kernels"].list<Kernel>(10000, readKernel);
  }
  if (!errors.first.empty())
    return absl::InvalidArgumentError(errors.first);
  for (const Kernel &k : kernels)
    if (absl::Status s = checkKernel(k); !s.ok())
      return s;
  return kernels;
}

} // namespace kernelc
