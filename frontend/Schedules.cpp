// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules in the text:
//
//   schedule linear for sm_90a { launch y { tile i: 128, j: 256; stages: 6 }; copies: never }
//
// Each launch's entries become a record of the kernel's `schedule` attribute, as those of a schedule file do, and `schedule_at` says
// where each stands. What the keys mean, and which there are, te-plan knows.
#include "frontend/Schedules.h"

#include "frontend/Parser.h"
#include "ir/te/ScheduleLoc.h"
#include "support/Target.h"
#include "support/TargetNames.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <utility>

using namespace mlir;

namespace kernelc::frontend {

bool Parser::parseSchedule(Definition &d) {
  d.kind = Definition::Schedule;
  take();
  std::string expected = "the kernel's name after 'schedule'";
  for (const Definition &kernel : result.ast.definitions) // the text's last kernel
    if (kernel.kind == Definition::Def && !kernel.name.empty())
      expected = ("the kernel's name after 'schedule', as in 'schedule " + kernel.name + " {'").str();
  if (!parseName(d.name, d.nameLoc, expected))
    return false;
  if (atWord("for")) {
    take();
    if (!parseName(d.target, d.targetLoc, "an architecture after 'for', such as sm_90a"))
      return false;
  }
  if (at(Tok::Comma) && !d.target.empty()) {
    diags.error(peek().loc) << "a schedule is for one architecture, or without 'for' for all; write a schedule for each";
    return false;
  }
  if (atWord("when")) {
    diags.error(peek().loc) << "a schedule has no 'when' yet: it is for all sizes; one for some sizes goes into a file for '--schedule'";
    return false;
  }
  if (!expect(Tok::LBrace, "before the schedule's launches", Role::BlockOpen))
    return false;
  while (!at(Tok::RBrace)) {
    mark(Role::StatementStart);
    if (atWord("launch")) {
      take();
      StringRef launch;
      Loc loc;
      if (!parseName(launch, loc, "the launch's name after 'launch'") ||
          !expect(Tok::LBrace, "before what the launch's schedule says", Role::BlockOpen))
        return false;
      d.entries.push_back({launch, loc, "", {}, "", nullptr});
      while (!at(Tok::RBrace)) {
        mark(Role::StatementStart);
        if (!parseScheduleEntry(d, launch))
          return false;
        accept(Tok::Semicolon);
      }
      expect(Tok::RBrace, "after the launch's schedule", Role::BlockClose);
    } else if (!parseScheduleEntry(d, "")) {
      return false;
    }
    accept(Tok::Semicolon);
  }
  return expect(Tok::RBrace, "after the schedule", Role::BlockClose);
}

/// warps = 4: at the sign behind the key.
bool Parser::refuseEqualsSign(StringRef key, bool isTile) {
  if (!at(Tok::Assign) || tooDeep)
    return false;
  diags.error(peek().loc) << "a key and its value are joined by ':'; write '" << (isTile ? "tile " : "") << key << ": " << peek(1).text
                          << "'";
  return true;
}

/// `stages: 4`, or `tile i: 128, j: 256`.
bool Parser::parseScheduleEntry(Definition &d, StringRef launch) {
  if (at(Tok::Name) && peek(1).kind == Tok::LBrace && launch.empty()) { // y { warps: 4 }
    diags.error(peek().loc) << "the word 'launch' stands before a launch's name; write 'launch " << peek().text << " {'";
    return false;
  }
  if ((atWord("tile") || atWord("tiles")) && (peek(1).kind == Tok::Colon || peek(1).kind == Tok::LSquare || peek(1).kind == Tok::LParen)) {
    diags.error(peek().loc) << "a tile is of an index; write 'tile i: " << (peek(2).kind == Tok::Integer ? peek(2).text : "128") << "'";
    return false;
  }
  bool isTile = atWord("tile") && peek(1).kind == Tok::Name;
  if (isTile)
    take();
  do {
    ScheduleEntry e;
    e.launch = launch;
    if (!parseName(e.key, e.loc, isTile ? "an index after 'tile', as in 'tile i: 128'" : "what the schedule sets, as in 'stages: 4'") ||
        refuseEqualsSign(e.key, isTile) || !expect(Tok::Colon, isTile ? "between an index and its tile" : "between a key and its value"))
      return false;
    if (isTile)
      e.index = std::exchange(e.key, "tiles");
    if (!at(Tok::Integer) && !at(Tok::KwTrue) && !at(Tok::KwFalse) && !at(Tok::Name))
      return fail("a whole number, true, false or a word");
    e.valueLoc = peek().loc;
    e.value = &take();
    d.entries.push_back(e);
  } while (isTile && accept(Tok::Comma));
  return true;
}

namespace {

/// What an entry says; null after an error.
Attribute valueOf(const ScheduleEntry &e, Builder &b, Diagnostics &diags) {
  switch (e.value->kind) {
  case Tok::KwTrue:
  case Tok::KwFalse: return b.getBoolAttr(e.value->kind == Tok::KwTrue);
  case Tok::Name: return b.getStringAttr(e.value->text);
  default: break;
  }
  int64_t number = 0;
  if (e.value->text.getAsInteger(0, number)) {
    diags.error(e.valueLoc) << "'" << e.value->text << "' is too large for a schedule";
    return {};
  }
  return b.getI64IntegerAttr(number);
}

/// What one schedule of the text says, launch by launch.
class ScheduleReader {
public:
  ScheduleReader(Builder &b, Diagnostics &diags, SmallVector<NamedAttribute> &places) : b_(b), diags_(diags), places_(places) {}

  void read(const Definition &d, SmallVector<Attribute> &records) {
    for (const ScheduleEntry &e : d.entries)
      e.value ? addField(e) : addLaunch(e);
    for (auto &[launch, record] : launches_) {
      if (auto own = tiles_.find(launch); own != tiles_.end())
        record.push_back(b_.getNamedAttr("tiles", b_.getDictionaryAttr(own->second)));
      if (!d.target.empty())
        record.push_back(b_.getNamedAttr("target", b_.getStringAttr(d.target)));
      records.push_back(b_.getDictionaryAttr(record));
    }
  }

private:
  /// Where messages about a field point.
  void place(StringRef launch, ArrayRef<StringRef> keys, bool isName, Loc loc) {
    places_.push_back(b_.getNamedAttr(te::keyOfSchedulePlace(launch, keys, isName), LocationAttr(diags_.underlined(loc))));
  }

  void addLaunch(const ScheduleEntry &e) {
    SmallVector<NamedAttribute> &record = launches_[e.launch];
    if (!record.empty())
      diags_.error(e.loc) << "launch '" << e.launch << "' has a schedule here already";
    record.push_back(b_.getNamedAttr("launch", b_.getStringAttr(e.launch)));
    place(e.launch, {"launch"}, false, e.loc);
    place(e.launch, {}, false, e.loc);
  }

  void addField(const ScheduleEntry &e) {
    SmallVector<NamedAttribute> &record = launches_[e.launch], &list = e.index.empty() ? record : tiles_[e.launch];
    StringRef key = e.index.empty() ? e.key : e.index;
    if (llvm::any_of(list, [&](NamedAttribute a) { return a.getName() == key; })) {
      diags_.error(e.loc) << "'" << key << "' stands here twice";
      return;
    }
    Attribute value = valueOf(e, b_, diags_);
    if (!value)
      return;
    list.push_back(b_.getNamedAttr(key, value));
    SmallVector<StringRef> path{e.key};
    if (!e.index.empty())
      path.push_back(e.index);
    place(e.launch, path, true, e.loc);
    place(e.launch, path, false, e.valueLoc);
  }

  Builder &b_;
  Diagnostics &diags_;
  SmallVector<NamedAttribute> &places_;
  llvm::MapVector<StringRef, SmallVector<NamedAttribute>> launches_, tiles_;
};

/// The kernel that a schedule is of; null where there is none, after an error if the module `isWhole`.
te::KernelOp findScheduled(ModuleOp module, const Definition &d, bool isWhole, Diagnostics &diags) {
  te::KernelOp kernel;
  SmallVector<StringRef> names;
  for (auto op : module.getOps<te::KernelOp>()) {
    names.push_back(op.getSymName());
    kernel = op.getSymName() == d.name ? op : kernel;
  }
  if (kernel || !isWhole) // (one kernel of the file may have been asked for)
    return kernel;
  std::string near = findNearest(d.name, names);
  diags.error(d.nameLoc) << "there is no kernel '" << d.name << "'; "
                         << (near.empty() ? "the text has '" + llvm::join(names, "', '") + "'" : "did you mean '" + near + "'?");
  return {};
}

} // namespace

bool attachSchedules(ModuleOp module, const Ast &ast, bool isWhole, Diagnostics &diags) {
  Builder b(module.getContext());
  unsigned before = diags.numErrors();
  llvm::MapVector<te::KernelOp, std::pair<SmallVector<Attribute>, SmallVector<NamedAttribute>>> found;
  for (const Definition &d : ast.definitions) {
    if (d.kind != Definition::Schedule || d.isBroken)
      continue;
    te::KernelOp kernel = findScheduled(module, d, isWhole, diags);
    if (!kernel)
      continue;
    absl::string_view target(d.target.data(), d.target.size());
    if (!target.empty() && !findTarget(target)) {
      diags.error(d.targetLoc) << "unknown target '" << d.target << "'" << suggestTarget(target);
      continue;
    }
    auto &[records, places] = found[kernel];
    ScheduleReader(b, diags, places).read(d, records);
  }
  for (auto &[kernel, what] : found) {
    auto &[records, places] = what;
    // (of two schedules of one launch, for other targets, messages point at the first)
    llvm::StringSet<> seen;
    llvm::erase_if(places, [&](NamedAttribute a) { return !seen.insert(a.getName().getValue()).second; });
    kernel.setScheduleAttr(b.getArrayAttr(records));
    kernel.setScheduleAtAttr(b.getDictionaryAttr(places));
  }
  return diags.numErrors() == before;
}

} // namespace kernelc::frontend
