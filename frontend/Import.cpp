// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The front door: runs the stages of the frontend in order. See Import.h.
#include "frontend/Import.h"

#include "frontend/Emit.h"
#include "frontend/Format.h"
#include "frontend/ImportedFiles.h"
#include "frontend/Parser.h"
#include "frontend/Prelude.h"
#include "frontend/RangeComments.h"
#include "frontend/Schedules.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

class Importer {
public:
  Importer(MLIRContext &context, const ImportOptions &options) : context(context), diags(context), options(options) {}

  OwningOpRef<ModuleOp> run(StringRef text, StringRef fileName);
  /// The comments that `fmt --ranges` adds to `text`.
  FailureOr<std::vector<RangesComment>> findRanges(StringRef text, StringRef fileName);

private:
  /// Parses and checks `text`, and hands every kernel of the options to `kernel` that
  /// has no errors. False after errors.
  bool forEachKernel(StringRef text, StringRef fileName, llvm::function_ref<void(Kernel &, Sema &)> handle);
  void check(const Definition &d, llvm::function_ref<void(Kernel &, Sema &)> handle);
  enum class Origin { Prelude, Imported, Own };
  bool collect(const Ast &ast, Origin origin);
  bool checkOptions(const Ast &ast);
  static void collectNames(const Expr *e, std::vector<StringRef> &names);

  MLIRContext &context;
  Diagnostics diags;
  const ImportOptions &options;
  ModuleOp module_; ///< null where none is made
  FnTable fns, reducers, userNames;
  llvm::StringMap<Loc> imported;
};

bool Importer::collect(const Ast &ast, Origin origin) {
  for (const Definition &d : ast.definitions) {
    if (d.isBroken) {
      if (d.kind == Definition::Fn || d.kind == Definition::Reducer) // a use of it is no second mistake
        (d.kind == Definition::Fn ? fns : reducers)[d.name] = &d;
      continue;
    }
    switch (d.kind) {
    case Definition::Import: continue;   // loaded already
    case Definition::Schedule: continue; // once there are kernels
    case Definition::Reducer:
    case Definition::Fn:
      if (auto it = imported.find(d.name); it != imported.end()) {
        auto e = diags.error(d.nameLoc);
        e << "'" << d.name << "' is defined by '" << diags.file(it->second.file).name << "' as well, which is imported; rename one of them";
        diags.note(e, it->second) << "it is defined here";
        continue;
      }
      (d.kind == Definition::Fn ? fns : reducers)[d.name] = &d; // the user's replaces the prelude's
      (d.kind == Definition::Fn ? reducers : fns).erase(d.name);
      if (origin == Origin::Imported)
        imported[d.name] = d.nameLoc;
      break;
    case Definition::Def: // those of imported files are not this program's: a name that nobody can write says what a call of one is
      if (origin == Origin::Imported)
        fns[("def " + d.name).str()] = &d;
      break;
    }
    if (findElementType(absl::string_view(d.name.data(), d.name.size())))
      diags.error(d.nameLoc) << "'" << d.name << "' is a type and cannot be a name";
    if (origin != Origin::Own)
      continue;
    if (auto [known, isNew] = userNames.try_emplace(d.name, &d); !isNew) {
      auto e = diags.error(d.nameLoc);
      e << "'" << d.name << "' is defined twice in this file; rename one of them";
      diags.note(e, known->second->nameLoc) << "it is defined here";
    }
  }
  return diags.numErrors() == 0;
}

void Importer::collectNames(const Expr *e, std::vector<StringRef> &names) {
  SmallVector<const Expr *> work = {e};
  while (!work.empty()) {
    const Expr *top = work.pop_back_val();
    if (top->kind == Expr::Name)
      names.push_back(top->text);
    work.append(top->args.begin(), top->args.end());
  }
}

bool Importer::checkOptions(const Ast &ast) {
  std::vector<StringRef> names, kernels;
  for (const Definition &d : ast.definitions) {
    if (d.kind != Definition::Def)
      continue;
    kernels.push_back(d.name);
    for (const auto *list : {&d.params, &d.outputs})
      for (const Param &p : *list) {
        if (p.isConst)
          names.push_back(p.name);
        for (const Expr *dim : p.type.dims)
          collectNames(dim, names);
      }
  }
  // What is wrong stands on the command line, not in the text.
  auto quoted = [](ArrayRef<StringRef> list) {
    std::vector<std::string> all;
    for (StringRef n : list)
      all.push_back(("'" + n + "'").str());
    return llvm::join(all, ", ");
  };
  if (!options.kernel.empty() && !llvm::is_contained(kernels, options.kernel)) {
    std::string near = findNearest(options.kernel, kernels);
    auto d = diags.errorElsewhere();
    d << "--kernel " << options.kernel << ": this file has no such kernel";
    if (!near.empty())
      d << "; did you mean '" << near << "'?";
    else if (!kernels.empty())
      d << "; it has " << quoted(kernels);
  }
  for (auto &[name, value] : options.constants)
    if (!llvm::is_contained(names, name)) {
      std::string near = findNearest(name, names);
      auto d = diags.errorElsewhere();
      d << "'" << name << "' is set to " << toString(value) << ", and no kernel of this file has a size or 'const' parameter of that name";
      llvm::sort(names);
      names.erase(llvm::unique(names), names.end());
      if (!near.empty())
        d << "; did you mean '" << near << "'?";
      else if (!names.empty())
        d << "; there are " << quoted(names);
    }
  return diags.numErrors() == 0;
}

/// Known sizes prove more, but not everything that holds for all: what is refused with them and accepted without is
/// accepted, and they are put in afterwards.
void Importer::check(const Definition &d, llvm::function_ref<void(Kernel &, Sema &)> handle) {
  Constants sizes = options.constants, others;
  for (const Param &p : d.params)
    if (auto it = sizes.find(p.name.str()); p.isConst && it != sizes.end())
      others.insert(sizes.extract(it));
  std::vector<Diagnostic> withheld;
  unsigned before = diags.numErrors();
  auto attempt = [&](const Constants &constants, std::vector<Diagnostic> *messages) {
    std::optional<ScopedDiagnosticHandler> keeper;
    if (messages)
      keeper.emplace(&context, [&](Diagnostic &m) { messages->push_back(std::move(m)); });
    Kernel kernel;
    kernel.def = &d;
    Sema sema(diags, kernel, fns, reducers, constants);
    if (sema.run()) {
      if (&constants == &others)
        kernel.fixed = sizes;
      if (before == 0) // nothing comes of this kernel otherwise
        handle(kernel, sema);
      return true;
    }
    return !sema.statementsWereReached();
  };
  if (sizes.empty()) {
    attempt(options.constants, nullptr);
    return;
  }
  std::vector<Diagnostic> ignored;
  bool done = attempt(options.constants, &withheld);
  unsigned errors = diags.numErrors();
  if (!done) {
    diags.forgetErrors(before);
    done = attempt(others, &ignored);
    if (diags.numErrors() == before)
      return;
  }
  diags.forgetErrors(errors);
  for (Diagnostic &m : withheld)
    context.getDiagEngine().emit(std::move(m));
}

bool Importer::forEachKernel(StringRef text, StringRef fileName, llvm::function_ref<void(Kernel &, Sema &)> handle) {
  uint32_t file = diags.addFile(fileName, text);
  uint32_t preludeFile = diags.addFile("<prelude>", kPrelude);
  auto tokens = lex(diags, file), preludeTokens = lex(diags, preludeFile);
  if (!tokens || !preludeTokens)
    return false;
  ParseResult prelude = Parser(diags, *preludeTokens).run();
  ParseResult parsed = Parser(diags, *tokens).run();
  // Other definitions than those with an error are checked all the same.
  bool parses = diags.numErrors() == 0;
  ImportedFiles files(diags, options.readImport);
  files.load(parsed.ast);
  collect(prelude.ast, Origin::Prelude);
  for (const ParseResult &f : files.files())
    collect(f.ast, Origin::Imported);
  if (collect(parsed.ast, Origin::Own) && parses)
    checkOptions(parsed.ast);
  bool any = false;
  for (const Definition &d : parsed.ast.definitions) {
    if (d.kind != Definition::Def || (!options.kernel.empty() && d.name != options.kernel))
      continue;
    any = true;
    if (!d.isBroken && !diags.full())
      check(d, handle);
  }
  if (!any && diags.numErrors() == 0)
    diags.error({0, file}) << "this file has no kernel; define one with 'def', as in 'def copy(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] }'";
  return diags.numErrors() == 0 && (!module_ || attachSchedules(module_, parsed.ast, options.kernel.empty(), diags));
}

OwningOpRef<ModuleOp> Importer::run(StringRef text, StringRef fileName) {
  context.loadDialect<te::TeDialect, arith::ArithDialect, math::MathDialect>();
  OwningOpRef<ModuleOp> module(ModuleOp::create(FileLineColLoc::get(&context, fileName, 1, 1)));
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  module_ = *module;
  if (!forEachKernel(text, fileName, [&](Kernel &kernel, Sema &sema) {
        te::KernelOp op = KernelEmitter(builder, diags, kernel).emit(sema.statements);
        fixSizes(op, kernel.fixed);
      }))
    return {};
  return module;
}

FailureOr<std::vector<RangesComment>> Importer::findRanges(StringRef text, StringRef fileName) {
  context.loadDialect<te::TeDialect, arith::ArithDialect, math::MathDialect>();
  std::vector<RangesComment> comments;
  if (!forEachKernel(text, fileName, [&](Kernel &kernel, Sema &sema) {
        for (const CoreStatement &s : sema.statements)
          if (std::string comment = rangesComment(s, kernel, text); !comment.empty())
            comments.push_back({s.loc.offset, kernel.def->loc.offset, comment});
      }))
    return failure();
  return comments;
}

} // namespace

OwningOpRef<ModuleOp> importKc(MLIRContext &context, StringRef text, StringRef fileName, const ImportOptions &options) {
  return Importer(context, options).run(text, fileName);
}

FailureOr<std::string> formatKc(MLIRContext &context, StringRef text, StringRef fileName) {
  Diagnostics diags(context);
  uint32_t file = diags.addFile(fileName, text);
  auto tokens = lex(diags, file);
  if (!tokens)
    return failure();
  ParseResult parsed = Parser(diags, *tokens).run();
  if (diags.numErrors() > 0)
    return failure();
  return format(*tokens, parsed.roles);
}

FailureOr<std::string> formatKcWithRanges(MLIRContext &context, StringRef text, StringRef fileName, const ImportOptions &options) {
  // The user's own layout first, so that offsets are those of the lines that stay.
  std::string own = withoutRangesComments(text);
  FailureOr<std::string> formatted = formatKc(context, own, fileName);
  if (failed(formatted))
    return failure();
  auto comments = Importer(context, options).findRanges(*formatted, fileName);
  if (failed(comments))
    return failure();
  return withRangesComments(*formatted, *comments);
}

} // namespace kernelc::frontend
