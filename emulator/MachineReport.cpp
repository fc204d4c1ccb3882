// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The wording of findings: who, what, where in the CUDA text and in the `.kc`
// source, each distinct pair of places once.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "emulator/Machine.h"

namespace kernelc::emulator {

CodeLocation Machine::locate(uint32_t pc) {
  auto it = locations_.find(pc);
  if (it == locations_.end())
    it = locations_.emplace(pc, pc ? text_.locate(reinterpret_cast<void *>(text_.imageBase() + pc)) : CodeLocation()).first;
  return it->second;
}

Party Machine::party(const Thread &t, std::string what, uint32_t pc) {
  Party p;
  p.block = t.block->linear;
  p.thread[0] = t.index.x, p.thread[1] = t.index.y, p.thread[2] = t.index.z;
  p.what = std::move(what);
  p.where = locate(pc);
  return p;
}

Party Machine::party(const Stamp &s) {
  Party p;
  unsigned agent = s.agent, threads = blockThreads_ * spec_.cluster;
  bool write = s.flags & Stamp::Write;
  p.what = (s.flags & Stamp::Atomic) ? "atomic" : write ? "write" : "read";
  if (agent >= threads) { // an asynchronous stand-in: its name ends in @thread
    p.what = absl::StrCat("asynchronous ", p.what);
    for (auto &d : live_)
      if (d->id == s.domain) {
        std::pair<absl::string_view, absl::string_view> name = absl::StrSplit(d->agentNames[agent - threads], '@');
        p.what = absl::StrCat(name.first, write ? " write" : " read");
        agent = unsigned(std::atoi(std::string(name.second).c_str()));
      }
  }
  if (agent < threads) {
    unsigned linear = agent % blockThreads_;
    p.block = int64_t(s.domain) * spec_.cluster + agent / blockThreads_;
    p.thread[0] = linear % spec_.block[0];
    p.thread[1] = linear / spec_.block[0] % spec_.block[1];
    p.thread[2] = linear / spec_.block[0] / spec_.block[1];
  } else {
    p.block = int64_t(s.domain) * spec_.cluster;
  }
  p.where = locate(s.pc);
  return p;
}

std::string Machine::describe(const Party &p) {
  std::string s = absl::StrFormat("%s by thread (%d,%d,%d) of block %d", p.what, p.thread[0], p.thread[1], p.thread[2], p.block);
  if (p.where.line)
    absl::StrAppend(&s, " at line ", p.where.line);
  if (p.where.sourceLine)
    absl::StrAppend(&s, " (", p.where.sourceFile, ":", p.where.sourceLine, ")");
  return s;
}

std::string Machine::reportKey(FindingKind kind, const Party &a, const Party &b) const {
  std::string x = absl::StrCat(a.where.line, a.what), y = absl::StrCat(b.where.line, b.what);
  if (y < x)
    std::swap(x, y);
  return absl::StrCat(int(kind), "|", x, "|", y);
}

void Machine::report(FindingKind kind, std::string message, Party first, Party second) {
  auto [it, fresh] = findingIndex_.emplace(reportKey(kind, first, second), report_.findings.size());
  if (!fresh) {
    if (it->second < report_.findings.size())
      report_.findings[it->second].count++;
    return;
  }
  if (int(report_.findings.size()) >= options_.maxFindings)
    return;
  Finding f;
  f.kind = kind;
  f.kernel = entry_.name;
  f.message = absl::StrCat(entry_.name, ": ", findingKindName(kind), ": ", message);
  if (first.block >= 0)
    absl::StrAppend(&f.message, ": ", describe(first));
  if (second.block >= 0)
    absl::StrAppend(&f.message, ", and ", describe(second));
  f.first = std::move(first);
  f.second = std::move(second);
  report_.findings.push_back(std::move(f));
  if (!options_.stopAtFirst)
    return;
  abandoned_ = true;
  if (running_)
    abandon();
}

void Machine::fail(FindingKind kind, std::string message, const char *what, uint32_t pc) {
  report(kind, std::move(message), party(self(), what, pc));
  abandon();
}

void Machine::reportConflict(const Actor &who, const Stamp &other, const std::string &where) {
  bool write = who.flags & Stamp::Write, atomic = who.flags & Stamp::Atomic;
  // Seen often: find the known pair without building any text.
  Party me;
  Stamp mine{who.thread->block->domain->id, who.agent, who.flags, who.clock, who.pc, who.atomic};
  me = who.agent == who.thread->agent ? party(*who.thread, atomic ? "atomic" : write ? "write" : "read", who.pc) : party(mine);
  const char *hint = other.domain != mine.domain ? "nothing orders these blocks" : "no barrier or wait lies between";
  report(FindingKind::DataRace, absl::StrCat(where, ", ", hint), std::move(me), party(other));
}

void Machine::reportOutside(const Actor &who, const void *p, size_t size) {
  uintptr_t at = reinterpret_cast<uintptr_t>(p);
  bool write = who.flags & Stamp::Write;
  // Name the nearest thing it may have been meant for.
  std::string near = "address belongs to no buffer";
  uint64_t best = 1 << 20;
  auto consider = [&](uintptr_t base, size_t bytes, const std::string &name) {
    if (at >= base && at + size > base + bytes && at - base - std::min<uint64_t>(at - base, bytes) < best) {
      uint64_t beyond = at >= base + bytes ? at - (base + bytes) : 0;
      best = beyond;
      near = absl::StrCat(beyond, " bytes past the end of ", name, " (", bytes, " bytes)");
      if (at < base + bytes)
        near = absl::StrCat("runs over the end of ", name, " (", bytes, " bytes) by ", at + size - base - bytes);
    } else if (at < base && base - at < best) {
      best = base - at;
      near = absl::StrCat(base - at, " bytes before ", name);
    }
  };
  for (const Region &r : regions_)
    consider(r.base, r.bytes, absl::StrCat("'", r.buffer->name, "'"));
  if (spec_.sharedBytes)
    for (auto &b : who.thread->block->domain->blocks)
      consider(reinterpret_cast<uintptr_t>(b->shared), size_t(spec_.sharedBytes), "shared memory");
  report(FindingKind::OutOfBounds, near, party(*who.thread, absl::StrCat(size, "-byte ", write ? "write" : "read"), who.pc));
}

void Machine::reportStuck(FindingKind kind) {
  // One line per kind of wait: how many, the first of them, and what is missing.
  struct Group {
    const Thread *first = nullptr;
    int count = 0;
  };
  std::map<std::string, Group> groups;
  unsigned exited = 0;
  const Thread *someone = nullptr, *gone = nullptr;
  for (auto &d : live_)
    for (auto &b : d->blocks) {
      exited += b->exited;
      for (auto &t : b->threads) {
        if (t->status == Thread::Done)
          gone = gone ? gone : t.get();
        if (t->status != Thread::Waiting)
          continue;
        someone = someone ? someone : t.get();
        CodeLocation at = locate(t->waitPc);
        Group &g = groups[absl::StrCat(t->describeWait(*t), " at line ", at.line,
                                       at.sourceLine ? absl::StrCat(" (", at.sourceFile, ":", at.sourceLine, ")") : "")];
        g.first = g.first ? g.first : t.get();
        g.count++;
      }
    }
  std::vector<std::string> lines;
  for (auto &[what, g] : groups)
    lines.push_back(absl::StrFormat("%d threads, first (%d,%d,%d) of block %d, wait for %s", g.count, g.first->index.x, g.first->index.y,
                                    g.first->index.z, g.first->block->linear, what));
  if (exited)
    lines.push_back(absl::StrCat(
        exited, " threads have ended",
        gone ? absl::StrFormat(", first (%d,%d,%d) of block %d", gone->index.x, gone->index.y, gone->index.z, gone->block->linear) : ""));
  std::string text;
  for (const std::string &l : lines)
    absl::StrAppend(&text, text.empty() ? "" : "; ", l);
  if (kind == FindingKind::StepBudget) {
    if (!report_.findings.empty() && report_.findings.back().kind == kind && !text.empty())
      absl::StrAppend(&report_.findings.back().message, "; ", text);
    return;
  }
  // All wait at barriers of one block and some have gone: that is divergence.
  bool barrier = false;
  for (auto &[what, g] : groups)
    barrier |= what.find("__syncthreads") == 0 || what.find("warp operation") == 0;
  if (kind == FindingKind::Deadlock && barrier && exited)
    kind = FindingKind::BarrierDivergence;
  Party p;
  if (someone)
    p = party(*someone, "wait", someone->waitPc);
  report(kind, text, p);
}

} // namespace kernelc::emulator
