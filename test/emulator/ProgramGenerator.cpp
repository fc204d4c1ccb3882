// Expressions are drawn top down over the indices in scope; every index name has a
// size of its own, so that a subscript of bare indices is in bounds, and shifted
// ones go through .pad, .edge or .wrap.
#include "test/emulator/ProgramGenerator.h"

#include <random>
#include <vector>

namespace kernelc::emulator {
namespace {

using Names = std::vector<std::string>;

class Generator {
public:
  Generator(uint64_t seed, const GeneratorOptions &options) : random_(seed), options_(options) {
    integer_ = options.integers && chance(5);
    storage_ = integer_ ? pick({"i32", "i32", "i64"})
                        : pick(options.narrow ? Names{"f32", "f32", "f16", "bf16"} : Names{"f32"});
  }

  std::string run() {
    Names all = {"i", "j", "k", "l", "m"};
    int rank = int(below(unsigned(options_.rank) + 1));
    Names out(all.begin(), all.begin() + rank);
    std::string body;
    int lets = int(below(unsigned(options_.lets) + 1));
    for (int n = 0; n < lets; n++) {
      Names on;
      for (const std::string &i : all)
        if (int(on.size()) < 3 && chance(2))
          on.push_back(i);
      if (on.empty() && chance(2))
        on.push_back("i");
      std::string name = "t" + std::to_string(n);
      std::string type = !integer_ && options_.narrow && chance(6) ? ": bf16" : "";
      body += "  let " + name + subscript(on, chance(4)) + type + " = " +
              expression(on, options_.depth) + "\n";
      lets_.push_back({name, lastSubscript_});
    }
    body += "  y" + subscript(out, chance(4)) + " = " + expression(out, options_.depth) + "\n";
    Names outDims = lastSubscript_;
    // The outputs' sizes must be found in some input: read one tensor over them all.
    std::string params;
    for (size_t p = 0; p < params_.size(); p++)
      params += (p ? ", " : "") + params_[p].first + ": " + params_[p].second;
    std::string type = integer_ ? storage_ : (options_.narrow ? pick({"f32", "f32", storage_}) : "f32");
    return "def fuzz(" + params + ") -> (y: " + type + shape(outDims) + ") {\n" + body + "}\n";
  }

private:
  unsigned below(unsigned n) { return unsigned(random_() % n); }
  bool chance(unsigned n) { return below(n) == 0; }
  std::string pick(const Names &v) { return v[below(unsigned(v.size()))]; }
  static std::string sizeOf(const std::string &index) {
    return std::string(1, char('A' + (index[0] - 'i'))); // i -> A, j -> B, ...
  }
  std::string shape(const Names &indices) {
    std::string s;
    for (const std::string &i : indices)
      s += (s.empty() ? "" : ", ") + sizeOf(i);
    return "[" + s + "]";
  }
  /// The indices in order, or shuffled; what was used is kept in lastSubscript_.
  std::string subscript(Names indices, bool shuffled) {
    if (shuffled)
      for (size_t i = indices.size(); i > 1; i--)
        std::swap(indices[i - 1], indices[below(unsigned(i))]);
    lastSubscript_ = indices;
    std::string s;
    for (const std::string &i : indices)
      s += (s.empty() ? "" : ", ") + i;
    return "[" + s + "]";
  }

  std::string expression(const Names &scope, int depth) {
    Names saved = lastSubscript_;
    // The first expression of a statement reads every index of its scope.
    std::string e = read(scope) + pick({" + ", " * ", " - "}) + "(" + term(scope, depth) + ")";
    lastSubscript_ = saved;
    return e;
  }

  std::string read(Names indices) {
    Names saved = lastSubscript_;
    std::string name = "x" + std::to_string(params_.size());
    std::string s = subscript(indices, chance(3));
    std::string dims = shape(lastSubscript_);
    lastSubscript_ = saved;
    std::string type = storage_;
    if (!integer_ && options_.narrow && chance(4))
      type = pick({"f32", "f16", "bf16"});
    for (auto &[known, t] : params_) // often the same tensor again
      if (t == type + dims && chance(2))
        return known + s;
    params_.push_back({name, type + dims});
    return name + s;
  }

  std::string shiftedRead(const Names &scope) {
    std::string plain = read(scope), name = plain.substr(0, plain.find('['));
    std::string inside = plain.substr(plain.find('[') + 1);
    inside.pop_back();
    if (inside.empty())
      return plain;
    std::string how = pick({".pad(0)", ".edge", ".wrap", ".reflect"}), s;
    if (how == ".reflect")
      how = ".edge";
    size_t at = 0;
    while (at <= inside.size()) {
      size_t comma = inside.find(", ", at);
      std::string index = inside.substr(at, comma == std::string::npos ? comma : comma - at);
      s += (s.empty() ? "" : ", ") + index + pick({"", " + 1", " - 1", " - 2"});
      if (comma == std::string::npos)
        break;
      at = comma + 2;
    }
    return name + how + "[" + s + "]";
  }

  std::string term(const Names &scope, int depth) {
    if (depth == 0)
      return leaf(scope);
    switch (below(10)) {
    case 0:
    case 1:
    case 2:
      return reduction(scope, depth);
    case 3:
      return "(" + term(scope, depth - 1) + pick({" + ", " - "}) + term(scope, depth - 1) + ")";
    case 4:
      return "(" + term(scope, depth - 1) + " * " + leaf(scope) + ")";
    case 5:
      return pick({"max", "min"}) + "(" + term(scope, depth - 1) + ", " + leaf(scope) + ")";
    case 6:
      return integer_ ? "abs(" + term(scope, depth - 1) + ")"
                      : pick({"tanh", "abs", "sigmoid", "relu"}) + "(" + term(scope, depth - 1) + ")";
    case 7:
      return conditional(scope, depth);
    case 8:
      return shiftedRead(scope);
    default:
      return leaf(scope);
    }
  }

  std::string conditional(const Names &scope, int depth) {
    if (scope.size() < 2)
      return leaf(scope);
    std::string a = pick(scope), b = pick(scope);
    std::string c = pick({a + " <= " + b, a + " < " + b + " + 2", a + " % 3 == 1", a + " + " + b + " < " + sizeOf(a)});
    return "(" + term(scope, depth - 1) + " if " + c + " else " + leaf(scope) + ")";
  }

  std::string reduction(const Names &scope, int depth) {
    Names free;
    for (const char *i : {"i", "j", "k", "l", "m"})
      if (std::find(scope.begin(), scope.end(), i) == scope.end())
        free.push_back(i);
    if (free.empty() || scope.size() + 1 > 5)
      return leaf(scope);
    std::string r = pick(free);
    Names inner = scope;
    inner.push_back(r);
    // A contraction, most often: two operands over parts of the scope and r.
    Names left = {r}, right = {r};
    for (const std::string &i : scope) {
      unsigned side = below(5);
      if (side != 0)
        left.push_back(i);
      if (side <= 1)
        right.push_back(i);
    }
    std::string e = chance(2) ? read(left) + " * " + read(right)
                              : read(left) + " + " + "(" + term(inner, depth - 1) + ")";
    std::string bracket = r;
    if (!scope.empty() && chance(4)) {
      std::string o = pick(scope);
      bracket += ", " + pick({r + " <= " + o, r + " + " + o + " < " + sizeOf(r) + " + 1", r + " % 2 == 0"});
    }
    std::string op = integer_ ? pick({"sum", "sum", "max", "min"}) : pick({"sum", "sum", "sum", "max", "min", "mean"});
    if (op != "sum" && bracket != r) // an empty set has no maximum worth comparing
      op = "sum";
    return op + "[" + bracket + "](" + e + ")";
  }

  std::string leaf(const Names &scope) {
    if (!lets_.empty() && chance(2)) {
      auto &[name, on] = lets_[below(unsigned(lets_.size()))];
      bool inScope = true;
      std::string s;
      for (const std::string &i : on) {
        inScope &= std::find(scope.begin(), scope.end(), i) != scope.end();
        s += (s.empty() ? "" : ", ") + i;
      }
      if (inScope)
        return name + "[" + s + "]";
    }
    if (chance(4))
      return integer_ ? pick({"1", "2", "3"}) : pick({"0.5", "1.25", "2.0"});
    Names some;
    for (const std::string &i : scope)
      if (!chance(3))
        some.push_back(i);
    return read(some);
  }

  std::mt19937_64 random_;
  GeneratorOptions options_;
  bool integer_ = false;
  std::string storage_;
  std::vector<std::pair<std::string, std::string>> params_; ///< name, type with shape
  std::vector<std::pair<std::string, Names>> lets_;
  Names lastSubscript_;
};

} // namespace

std::string generateProgram(uint64_t seed, const GeneratorOptions &options) {
  return Generator(seed, options).run();
}

} // namespace kernelc::emulator
