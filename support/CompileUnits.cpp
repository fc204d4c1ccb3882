// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/CompileUnits.h"

#include <algorithm>
#include <bitset>
#include <set>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace kernelc {
namespace {

using absl::string_view;

/// What the scanner asks of each character of a text.
struct CharTable {
  bool word[256] = {}, space[256] = {};
  constexpr CharTable() {
    for (int c = 0; c < 256; ++c) {
      word[c] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
      space[c] = c == ' ' || (c >= '\t' && c <= '\r');
    }
  }
};
constexpr CharTable kChars;
bool isWordChar(char c) { return kChars.word[static_cast<unsigned char>(c)]; }
bool isSpace(char c) { return kChars.space[static_cast<unsigned char>(c)]; }

/// Walks over C text token by token; comments, strings and character constants are no words.
class Scanner {
public:
  explicit Scanner(string_view text) : text_(text) {}

  /// The next identifier or character of punctuation; empty at the end.
  string_view next() {
    while (at_ < text_.size()) {
      const char c = text_[at_], then = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
      if (isSpace(c))
        ++at_;
      else if (c == '/' && then == '/')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (c == '/' && then == '*')
        at_ = std::min(text_.find("*/", at_ + 2), text_.size() - 2) + 2;
      else if (c == '"' || c == '\'')
        skipQuoted(c);
      else
        break;
    }
    size_t begin = at_;
    while (at_ < text_.size() && isWordChar(text_[at_]))
      ++at_;
    if (at_ == begin && at_ < text_.size())
      ++at_;
    return text_.substr(begin, at_ - begin);
  }
  /// Just behind the last token.
  size_t position() const { return at_; }

private:
  void skipQuoted(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_)
      at_ += text_[at_] == '\\';
    at_ = std::min(at_ + 1, text_.size());
  }
  string_view text_;
  size_t at_ = 0;
};

/// A definition of the text's outermost level, with the comments and marks ahead of it.
struct Item {
  std::string text;
  string_view definition; ///< into the text that was read, as the names
  string_view name;
  string_view arguments; ///< of a specialisation, "<256, 0, 0>"
  bool isEntry = false;
  std::vector<string_view> uses; ///< names of items
};

/// What a definition is called: the word ahead of its parameters, or the type that it names.
void nameItem(string_view definition, Item *item) {
  Scanner scan(definition);
  string_view last;
  size_t angle = string_view::npos, angles = 0;
  bool isType = false, isTemplate = false;
  for (string_view t = scan.next(); !t.empty(); t = scan.next()) {
    if (t == "template") {
      isTemplate = true;
    } else if (t == "<") {
      angle = angles++ ? angle : scan.position() - 1;
    } else if (t == ">") {
      --angles;
      if (isTemplate && !angles && last.empty())
        angle = string_view::npos;
    } else if (angles) {
      continue;
    } else if (t == "__global__") {
      item->isEntry = true;
    } else if (t == "__launch_bounds__" || t == "alignas" || t == "__align__") {
      for (string_view in = scan.next(); !in.empty() && in != ")";)
        in = scan.next();
    } else if (t == "typedef" || t == "struct") {
      isType = true;
    } else if (t == ";" || t == "{" || (t == "(" && !isType)) {
      break;
    } else if (isWordChar(t[0])) {
      last = t;
      angle = string_view::npos;
    }
  }
  item->name = last;
  if (isTemplate && angle != string_view::npos)
    item->arguments = definition.substr(angle, definition.find('>', angle) + 1 - angle);
}

/// Names of items, of which most words of a text are none: asked for without a hash of all letters.
class Names {
public:
  void insert(string_view name) {
    names_.insert(name);
    mayBe_[slotOf(name)] = true;
  }
  bool contains(string_view word) const { return mayBe_[slotOf(word)] && names_.contains(word); }

private:
  static size_t slotOf(string_view word) {
    auto at = [&](size_t i) { return size_t(static_cast<unsigned char>(word[i])); };
    return word.empty() ? 0 : (at(0) * 7 + at(word.size() - 1) * 61 + at(word.size() / 2) * 449 + word.size() * 3) % kSlots;
  }
  static constexpr size_t kSlots = 4096;
  absl::flat_hash_set<string_view> names_;
  std::bitset<kSlots> mayBe_;
};

/// An emitted text as items: those for devices, in order.
class Outline {
public:
  explicit Outline(string_view text) {
    for (string_view line : absl::StrSplit(text, '\n'))
      consume(line);
    findUses();
  }
  const std::vector<Item> &items() const { return items_; }

private:
  void consume(string_view line) {
    if (!begun_ && isConditional(line))
      return;
    if (isHost_)
      return;
    absl::StrAppend(&pending_, line, "\n");
    if (!begun_) {
      if (line.empty()) // a comment that stands alone says nothing of a definition
        pending_.clear();
      if (line.empty() || absl::StartsWith(line, "//") || absl::StartsWith(line, "#"))
        return;
      begun_ = true;
      definition_ = line.data();
    }
    if (depth_) { // the lines of a body are indented
      if (absl::StartsWith(line, "}"))
        finish(line.data() + line.size());
      return;
    }
    string_view last;
    Scanner scan(line);
    for (string_view t = scan.next(); !t.empty(); t = scan.next()) {
      depth_ += t == "{" ? 1 : t == "}" ? -1 : 0;
      last = t;
    }
    if (depth_ == 0 && (last == ";" || last == "}"))
      finish(line.data() + line.size());
  }

  /// Whether a line is one of the conditions around helpers; between #else and #endif is the code for hosts.
  bool isConditional(string_view line) {
    if (absl::StartsWith(line, "#ifndef KC_HOST"))
      return true;
    if (absl::StartsWith(line, "#else"))
      return isHost_ = true;
    if (!absl::StartsWith(line, "#endif"))
      return false;
    isHost_ = false;
    return true;
  }

  void finish(const char *end) {
    Item item;
    item.definition = string_view(definition_, size_t(end - definition_));
    nameItem(item.definition, &item);
    item.text = std::move(pending_);
    items_.push_back(std::move(item));
    pending_.clear();
    begun_ = false;
    depth_ = 0;
  }

  /// What each item mentions of the others.
  void findUses() {
    Names names;
    for (const Item &item : items_)
      names.insert(item.name);
    for (Item &item : items_) {
      absl::flat_hash_set<string_view> uses;
      Scanner scan(item.definition);
      for (string_view t = scan.next(); !t.empty(); t = scan.next())
        if (t.size() > 1 && isWordChar(t[0]) && names.contains(t)) // a letter alone names no helper
          uses.insert(t);
      item.uses.assign(uses.begin(), uses.end());
    }
  }

  std::vector<Item> items_;
  std::string pending_;
  const char *definition_ = nullptr;
  bool begun_ = false, isHost_ = false;
  int depth_ = 0;
};

/// Whether something of `texts` calls that specialisation.
bool usesSpecialisation(const Item &item, const std::vector<const Item *> &used) {
  std::string call = absl::StrCat(item.name, item.arguments);
  return std::any_of(used.begin(), used.end(), [&](const Item *u) { return absl::StrContains(u->text, call); });
}

/// The text of one entry. Helpers stand behind those that they call: a walk from the back meets every use first.
std::string unitText(const std::vector<Item> &items, const Item &entry) {
  std::set<string_view> wanted(entry.uses.begin(), entry.uses.end());
  std::vector<const Item *> used = {&entry};
  for (auto item = items.rbegin(); item != items.rend(); ++item) {
    if (item->isEntry || !wanted.count(item->name) || (!item->arguments.empty() && !usesSpecialisation(*item, used)))
      continue;
    used.push_back(&*item);
    wanted.insert(item->uses.begin(), item->uses.end());
  }
  std::string text;
  for (auto item = used.rbegin(); item != used.rend(); ++item) {
    if (*item == &entry && used.size() > 1)
      text += "\n";
    text += (*item)->text;
  }
  return text;
}

} // namespace

std::vector<CompileUnit> compileUnitsOf(const Variant &variant) {
  Outline outline(variant.cudaText);
  std::vector<CompileUnit> units;
  std::set<string_view> done;
  for (const Launch &launch : variant.launches) {
    if (!done.insert(launch.entry).second)
      continue;
    auto item =
        std::find_if(outline.items().begin(), outline.items().end(), [&](const Item &i) { return i.isEntry && i.name == launch.entry; });
    if (item == outline.items().end()) { // not a text of ours
      units.assign(1, {{}, variant.cudaText});
      for (const Launch &l : variant.launches)
        units[0].entries.push_back(l.entry);
      return units;
    }
    units.push_back({{launch.entry}, unitText(outline.items(), *item)});
  }
  return units;
}

std::string codeOf(string_view cudaText) {
  std::string code;
  for (string_view line : absl::StrSplit(cudaText, '\n')) {
    string_view trimmed = absl::StripLeadingAsciiWhitespace(line);
    if (trimmed.empty() || absl::StartsWith(trimmed, "//") || absl::StartsWith(trimmed, "#line "))
      continue;
    absl::StrAppend(&code, line, "\n");
  }
  return code;
}

} // namespace kernelc
