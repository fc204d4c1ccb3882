// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which of the variants that fit a call's sizes serves it. All variants of a class are right for all its sizes, but each has the tiles and
// the parts of sums of the call that it was made for: a variant for 80 rows multiplies 8192 of them in a third of the speed. So sizes that
// are new to a class are planned, and where the model says that every variant there is loses too much, they get one more; not at once,
// since sizes that come once are over before it is compiled, but when they come again.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "driver/compile/Compiler.h"
#include "driver/compile/Program.h"

namespace kernelc {

/// Not thread-safe.
class SizeClasses {
public:
  SizeClasses(Program &program, const Kernel &signature) : program_(program), signature_(signature) {}

  struct Served {
    std::string key;       ///< of the variant; "" where that was not settled yet
    bool isWaiting = false; ///< for a variant of their own, by which they would be faster
    int calls = 0;          ///< since it waits
  };

  /// What serves `options`, whose class has the key `base`.
  Served find(const std::string &base, const VariantOptions &options) const;
  /// Counts a call of sizes that wait for a variant of their own: whether they have come again, so that they should get it.
  bool comeAgain(const std::string &base, const VariantOptions &options);
  /// Settles what serves them. `mayAdd`: one more variant, with a new key, where that is worth it; else they wait for it.
  std::string settle(const std::string &base, const VariantOptions &options, bool mayAdd);

private:
  struct Member {
    std::string key;
    VariantOptions options; ///< that it was made for
  };
  std::optional<double> timeOf(const VariantOptions &made, const VariantOptions &called) const;

  Program &program_;
  const Kernel &signature_;
  std::map<std::string, std::vector<Member>> members_; ///< of each class, by its key
  std::map<std::string, Served> served_;               ///< by the class of sizes and the steps that they are of
};

} // namespace kernelc
