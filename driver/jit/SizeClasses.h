// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which of the variants that fit a call's sizes serves it. All variants of a class are right for its sizes, but each has the tiles and the
// parts of sums of the call that it was made for: a variant for 80 rows multiplies 8192 of them in a third of the speed. So sizes that are
// new to a class are planned, and where the model says that every variant there loses too much, they get one more; not at once, since
// sizes that come once are over before it is compiled, but when they come again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver/compile/Compiler.h"
#include "driver/compile/Program.h"

namespace kernelc {

/// Not thread-safe.
class SizeClasses {
public:
  SizeClasses(Program &program, const Kernel &signature) : program_(program), signature_(signature) {}

  /// A variant of a class.
  struct Member {
    std::string key;
    VariantOptions options; ///< that it is made with
  };
  /// What a call asks of a class.
  struct Question {
    std::string key;    ///< of the class
    VariantOptions any; ///< a variant for any sizes of it, with the plan of this call's
  };
  /// May a new variant be made: not; only where none fits; or also in place of one that is much slower.
  enum class Room { None, First, More };

  /// The key of the variant that serves the question; "" where that was not settled yet.
  std::string find(const Question &asked) const;
  /// Whether its sizes wait for a variant of their own.
  bool isWaiting(const Question &asked) const;
  /// Counts a call of sizes that wait: whether they have come again, so that they should get it.
  bool comeAgain(const Question &asked);
  /// Settles it. `stays`: the sizes come again, so that they get what is fastest for them; else a variant for any sizes where none fits.
  /// Nothing where none fits and there is no room.
  std::optional<Member> settle(const Question &asked, Room room, bool stays);

private:
  struct Served {
    std::string key;
    bool isWaiting = false;
    int calls = 0; ///< since it waits
  };
  /// Of sizes between which plans hardly differ, by the class and the quarter of the way from one power of two to the next.
  static std::string stepOf(const Question &asked);
  /// A variant for no more than the step that the call's sizes are of.
  static VariantOptions boundOf(VariantOptions any);
  std::optional<double> timeOf(const VariantOptions &made, const Question &asked) const;

  Program &program_;
  const Kernel &signature_;
  std::map<std::string, std::vector<Member>> members_; ///< of each class
  std::map<std::string, Served> served_;               ///< of each step
};

} // namespace kernelc
