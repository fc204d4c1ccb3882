// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/inouts/Sequence.h"

namespace kernelc::inouts {
namespace {

const char *nameOf(Write w) {
  switch (w) {
  case Write::Full: return "full";
  case Write::Part: return "part";
  case Write::Data: return "data";
  case Write::Mirrored: return "mirrored";
  case Write::Turned: return "turned";
  }
  return "";
}

const char *nameOf(Read r) {
  switch (r) {
  case Read::Own: return "own";
  case Read::Elsewhere: return "elsewhere";
  case Read::Broadcast: return "broadcast";
  case Read::Reduction: return "reduction";
  case Read::Old: return "old";
  }
  return "";
}

/// A statement speaks of its target, of another element and of its condition by subscripts; of one point (i, j) they are numbers.
struct Subscripts {
  std::string own, elsewhere, broadcast, sum, old, where;
};

Subscripts subscriptsOf(int rank, const Statement &s, size_t position) {
  bool turned = s.write == Write::Turned, mirrored = s.write == Write::Mirrored || (turned && rank == 1);
  Subscripts t;
  if (rank == 1) {
    t.own = mirrored ? "N - 1 - i" : "i";
    t.elsewhere = mirrored ? "i" : s.write == Write::Part ? "i - 1" : "N - 1 - i";
    t.broadcast = "0";
    t.sum = "sum[k](x[k])";
    t.old = "t[i]";
  } else {
    t.own = mirrored ? "N - 1 - i, j" : turned ? "j, i" : "i, j";
    t.elsewhere = mirrored || turned ? "i, j" : "j, i";
    t.broadcast = "i, 0";
    t.sum = "sum[k](x[i, k])";
    t.old = "t[i, j]";
  }
  if (s.write == Write::Part || (turned && rank == 1))
    t.where = rank == 1 ? " where i in 1:N" : " where j > i";
  // On other data, on the inout elsewhere, and on it at its own point.
  std::string tested = position == 0 ? "m[" + t.own + "]" : position == 1 ? "x[" + t.elsewhere + "]" : "x[" + t.own + "]";
  if (s.write == Write::Data)
    t.where = " where " + tested + " > 0";
  return t;
}

/// The state between statements; wraps as the language does.
struct State {
  int rank;
  int64_t n;
  std::vector<int32_t> x;
  int32_t at(int64_t i, int64_t j) const { return rank == 1 ? x[size_t(i)] : x[size_t(i * n + j)]; }
};

/// Of all of rank 1, of row i of rank 2.
uint32_t sumOf(const State &before, int64_t i) {
  uint32_t sum = 0;
  for (int64_t k = 0; k < before.n; ++k)
    sum += uint32_t(before.rank == 1 ? before.at(k, 0) : before.at(i, k));
  return sum;
}

} // namespace

std::string Sequence::name() const {
  std::string name = "s" + std::to_string(rank);
  for (const Statement &s : statements)
    name += std::string("_") + nameOf(s.write) + "_" + nameOf(s.read);
  return name;
}

std::string Sequence::text() const {
  std::string shape = rank == 1 ? "i32[N]" : "i32[N, N]", body;
  bool readsOld = false;
  for (size_t n = 0; n < statements.size(); ++n) {
    const Statement &s = statements[n];
    Subscripts t = subscriptsOf(rank, s, n);
    std::string read;
    switch (s.read) {
    case Read::Own: read = "x[" + t.own + "]"; break;
    case Read::Elsewhere: read = "x[" + t.elsewhere + "]"; break;
    case Read::Broadcast: read = "x[" + t.broadcast + "]"; break;
    case Read::Reduction: read = t.sum; break;
    case Read::Old: read = t.old; break;
    }
    readsOld |= s.read == Read::Old;
    // The second statement reads its own point beside what it reads elsewhere.
    body += "  x[" + t.own + "] = 3 * " + read + (n == 1 ? " + x[" + t.own + "]" : "") + " + " + std::to_string(n + 1) + t.where + "\n";
  }
  std::string old = rank == 1 ? "  let t[i] = x[N - 1 - i]\n" : "  let t[i, j] = x[j, i]\n";
  return "def " + name() + "(inout x: " + shape + ", m: " + shape + ") {\n  require N >= 1\n" + (readsOld ? old : "") + body + "}\n";
}

std::vector<int32_t> Sequence::expected(std::vector<int32_t> x, const std::vector<int32_t> &m, int64_t n) const {
  const State first{rank, n, std::move(x)};
  State now = first;
  for (size_t position = 0; position < statements.size(); ++position) {
    const Statement &s = statements[position];
    const State before = now;
    uint32_t sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (s.read == Read::Reduction && (rank == 2 || i == 0))
        sum = sumOf(before, i);
      for (int64_t j = 0; j < (rank == 1 ? 1 : n); ++j) {
        bool turned = s.write == Write::Turned, mirrored = s.write == Write::Mirrored || (turned && rank == 1);
        int64_t ownRow = mirrored ? n - 1 - i : i, elseRow, elseColumn = j;
        if (rank == 1) {
          elseRow = mirrored ? i : s.write == Write::Part ? i - 1 : n - 1 - i;
        } else {
          elseRow = mirrored || turned ? i : j;
          elseColumn = mirrored || turned ? j : i;
        }
        size_t own = size_t(rank == 1 ? ownRow : turned ? j * n + i : ownRow * n + j);
        if ((s.write == Write::Part || (turned && rank == 1)) && !(rank == 1 ? i >= 1 : j > i))
          continue;
        int32_t tested = position == 0 ? m[own] : position == 1 ? before.at(elseRow, elseColumn) : before.x[own];
        if (s.write == Write::Data && tested <= 0)
          continue;
        uint32_t read = 0;
        switch (s.read) {
        case Read::Own: read = uint32_t(before.x[own]); break;
        case Read::Elsewhere: read = uint32_t(before.at(elseRow, elseColumn)); break;
        case Read::Broadcast: read = uint32_t(rank == 1 ? before.at(0, 0) : before.at(i, 0)); break;
        case Read::Reduction: read = sum; break;
        case Read::Old: read = uint32_t(rank == 1 ? first.at(n - 1 - i, 0) : first.at(j, i)); break;
        }
        now.x[own] = int32_t(3 * read + (position == 1 ? uint32_t(before.x[own]) : 0) + uint32_t(position) + 1);
      }
    }
  }
  return now.x;
}

uint64_t countOf(int length) {
  uint64_t count = 2; // ranks
  for (int n = 0; n < length; ++n)
    count *= kWrites * kReads;
  return count;
}

Sequence sequenceOf(int length, uint64_t number) {
  Sequence s{int(number % 2) + 1, {}};
  number /= 2;
  for (int n = 0; n < length; ++n) {
    s.statements.push_back({Write(number % kWrites), Read(number / kWrites % kReads)});
    number /= kWrites * kReads;
  }
  return s;
}

} // namespace kernelc::inouts
