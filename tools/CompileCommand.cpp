// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernelc compile: a source text to any of the forms on the way down.
#include <filesystem>
#include <map>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "codegen/TextParts.h"
#include "driver/compile/CudaHeader.h"
#include "driver/compile/Program.h"
#include "driver/compile/ScheduleFile.h"
#include "driver/jit/PlanChoice.h"
#include "driver/jit/Session.h"
#include "driver/jit/TuningStore.h"
#include "ir/te/Te.h"
#include "runtime/DiskCache.h"
#include "runtime/Nvrtc.h"
#include "support/ArtifactJson.h"
#include "support/Spelling.h"
#include "support/Target.h"
#include "support/TargetNames.h"
#include "tools/Commands.h"
#include "tools/Failure.h"
#include "tools/Files.h"
#include "tools/Messages.h"
#include "tools/PhaseTimer.h"
#include "tools/Source.h"

namespace kernelc::tools {
namespace {

const std::vector<std::string> kKinds = {"te", "plan", "tile", "layouts", "cu", "cuda", "ptx", "cubin", "header", "json"};

struct Settings {
  SourceOptions source;
  std::string file, arch = "sm_90a", kind, output = "-", variant = "default", helpers = "inline", dumpTo;
  bool timing = false, remarks = false, general = false;
  std::vector<std::string> facts;
};

std::string kindOfSuffix(const std::string &path) {
  static const std::pair<const char *, const char *> kSuffixes[] = {
      {".te.mlir", "te"},  {".plan.mlir", "plan"}, {".tile.mlir", "tile"}, {".layouts.mlir", "layouts"},
      {".cu.mlir", "cu"},  {".mlir", "te"},        {".cu", "cuda"},        {".ptx", "ptx"},
      {".cubin", "cubin"}, {".h", "header"},       {".hpp", "header"},     {".json", "json"}};
  for (auto &[suffix, kind] : kSuffixes)
    if (absl::EndsWith(path, suffix))
      return kind;
  return "";
}

std::optional<Stage> stageOf(const std::string &kind) {
  return kind == "te"        ? std::optional(Stage::Te)
         : kind == "plan"    ? std::optional(Stage::Plan)
         : kind == "tile"    ? std::optional(Stage::Tile)
         : kind == "layouts" ? std::optional(Stage::Layouts)
         : kind == "cu"      ? std::optional(Stage::Cu)
                             : std::nullopt;
}

std::string printed(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text + "\n";
}

using SizeFacts = decltype(VariantOptions::facts);

/// --fact NAME:DIVISOR:MAX[:LIKE], by name.
absl::StatusOr<SizeFacts> readFacts(const Settings &s) {
  SizeFacts facts;
  for (const std::string &f : s.facts) {
    std::vector<std::string> parts = absl::StrSplit(f, ':');
    SizeFact fact;
    bool read =
        (parts.size() == 3 || parts.size() == 4) && absl::SimpleAtoi(parts[1], &fact.divisor) && absl::SimpleAtoi(parts[2], &fact.max) &&
        fact.divisor >= 1 &&
        (parts.size() == 3 || (absl::SimpleAtoi(parts[3], &fact.like) && fact.like >= 1 && (fact.max < 0 || fact.like <= fact.max)));
    if (!read)
      return absl::InvalidArgumentError(absl::StrCat(
          "--fact ", f, ": expected NAME:DIVISOR:MAX or NAME:DIVISOR:MAX:LIKE, as in N:16:-1 for a size N that is a multiple of 16"));
    facts[parts[0]] = fact;
  }
  return facts;
}

VariantOptions variantOptions(const Settings &s, const Kernel &kernel, const SizeFacts &facts) {
  VariantOptions o;
  o.target = s.arch;
  o.name = s.variant;
  o.facts = facts;
  if (s.variant == "general") {
    o.index32 = false;
    o.params = generalParams(kernel);
  } else {
    o.mayWiden = kernel.sizes.empty(); // all are given: what `run` would use for dense tensors of these sizes
    if (facts.empty())
      o.facts = denseFacts(kernel);
  }
  return o;
}

/// A fact is about an open size of some kernel of the file.
absl::Status checkFacts(const Settings &s, absl::Span<const Kernel> kernels) {
  std::vector<std::string> sizes;
  for (const Kernel &kernel : kernels)
    for (const SizeRecipe &size : kernel.sizes)
      if (!absl::c_linear_search(sizes, size.name))
        sizes.push_back(size.name);
  for (const std::string &f : s.facts) {
    std::string name = f.substr(0, f.find(':'));
    if (absl::c_linear_search(sizes, name))
      continue;
    std::string near = findNearest(name, sizes);
    return absl::InvalidArgumentError(absl::StrCat("--fact ", f, ": no kernel of this file has an open size '", name, "'",
                                                   !near.empty()   ? absl::StrCat("; did you mean '", near, "'?")
                                                   : sizes.empty() ? "; none is open"
                                                                   : absl::StrCat("; open are ", absl::StrJoin(sizes, ", "))));
  }
  return absl::OkStatus();
}

/// The kernel at `stage` as MLIR text.
absl::StatusOr<std::string> emitStage(Program &program, const Kernel &kernel, const VariantOptions &options, Stage stage,
                                      std::vector<std::string> &remarks) {
  std::string text;
  absl::Status s = program.withModule(
      [&](mlir::ModuleOp module) -> absl::Status {
        auto one = isolate(module, kernel.name);
        auto result = runPipeline(*one, options, stage);
        if (!result)
          return absl::InternalError(absl::StrCat("a pass failed on kernel '", kernel.name, "' without a diagnostic"));
        text = printed(*result);
        return absl::OkStatus();
      },
      &remarks);
  if (!s.ok())
    return s;
  return text;
}

absl::Status dumpPhases(Program &program, const Kernel &kernel, const VariantOptions &options, const std::string &folder) {
  static const std::pair<Stage, const char *> kPhases[] = {
      {Stage::Te, "0-te"}, {Stage::Plan, "1-plan"}, {Stage::Tile, "2-tile"}, {Stage::Layouts, "3-layouts"}, {Stage::Cu, "4-cu"}};
  std::error_code ec;
  std::filesystem::create_directories(folder, ec);
  if (ec)
    return absl::UnavailableError(absl::StrCat("cannot create '", folder, "': ", ec.message()));
  std::vector<std::string> ignored;
  for (auto &[stage, name] : kPhases) {
    absl::StatusOr<std::string> text = emitStage(program, kernel, options, stage, ignored);
    if (!text.ok())
      return text.status();
    if (absl::Status s = writeOutput(absl::StrCat(folder, "/", kernel.name, ".", name, ".mlir"), *text); !s.ok())
      return s;
  }
  return absl::OkStatus();
}

/// Runs `compile` by the schedule that tune has kept for this variant, where there is one and it holds; else as the program is.
absl::Status withTuned(Session &session, Program &program, const Kernel &kernel, const VariantOptions &options,
                       std::vector<std::string> &remarks, absl::FunctionRef<absl::Status()> compile) {
  if (!DiskCache::mayHold(DiskCache::Kind::Tuning))
    return compile();
  std::optional<TunedSchedule> tuned =
      findTuned(session.cache(), program, kernel, options, [&](const std::string &text) { remarks.push_back(text); });
  if (!tuned)
    return compile();
  mlir::ArrayAttr own; // of a text in MLIR's syntax
  auto eachOp = [&](mlir::ModuleOp module, llvm::function_ref<void(te::KernelOp)> fn) {
    for (auto op : module.getOps<te::KernelOp>())
      if (op.getSymName() == kernel.name)
        fn(op);
  };
  absl::Status attached = program.withModule([&](mlir::ModuleOp module) {
    eachOp(module, [&](te::KernelOp op) { own = op.getScheduleAttr(); });
    return attachSchedules(module, tuned->schedule, "tuned schedule", kernel.name);
  });
  absl::Status status = attached.ok() ? compile() : attached;
  if (status.ok()) {
    remarks.push_back(tuned->remark);
    return status;
  }
  remarks.push_back(noLongerHolds(kernel, options.target, status));
  absl::Status restored = program.withModule([&](mlir::ModuleOp module) {
    eachOp(module, [&](te::KernelOp op) { op.setScheduleAttr(own); });
    return absl::OkStatus();
  });
  return restored.ok() ? compile() : restored;
}

/// The code of variants' texts, each compiled once whether or not there is a cache.
class Codes {
public:
  Codes(const Settings &s, Session &session, PhaseTimer &timer) : s_(s), session_(session), timer_(timer) {}

  absl::StatusOr<VariantCode> compile(const Variant &variant, const std::string &programName) {
    auto [known, isNew] = known_.try_emplace(variant.cudaText);
    if (isNew) {
      PhaseTimer::Other phase(timer_, "NVRTC");
      known->second = compileNew(variant, programName);
    }
    return known->second;
  }

private:
  absl::StatusOr<VariantCode> compileNew(const Variant &variant, const std::string &programName) {
    if (s_.kind == "header")
      return session_.compileVariant(variant, programName);
    absl::StatusOr<Cubin> cubin = session_.compileToCubin(variant.cudaText, programName, s_.arch); // one file with all entries
    if (!cubin.ok())
      return cubin.status();
    VariantCode code;
    code.units.push_back({{}, variant.cudaText});
    code.cubins.push_back(*std::move(cubin));
    return code;
  }

  const Settings &s_;
  Session &session_;
  PhaseTimer &timer_;
  std::map<std::string, absl::StatusOr<VariantCode>> known_;
};

/// The best of the kernel's plans, where code is wanted.
void keepBest(const Settings &s, Session &session, Codes &codes, Program &program, const VariantOptions &options, Kernel &kernel,
              std::vector<std::string> &remarks) {
  absl::StatusOr<Nvrtc *> nvrtc = session.nvrtc();
  if (!nvrtc.ok() || (s.kind != "cubin" && s.kind != "header"))
    return;
  const std::string programName = absl::StrCat(kernel.name, ".cu");
  auto compile = [&](const Variant &variant) { return codes.compile(variant, programName); };
  keepBestPlan({session.cache(), nameOf(**nvrtc), compile}, program, options, kernel);
  for (const std::string &r : kernel.variants[0].remarks)
    if (std::find(remarks.begin(), remarks.end(), r) == remarks.end())
      remarks.push_back(r);
  kernel.variants[0].remarks.clear();
}

void addRemarks(const Cubin &cubin, std::vector<std::string> &remarks) {
  for (const CompileDiagnostic &d : cubin.diagnostics)
    remarks.push_back(toString(d));
}

/// The product of one kernel from its compiled variant.
absl::StatusOr<std::string> finish(const Settings &s, Session &session, Codes &codes, const Kernel &kernel, PhaseTimer &timer,
                                   std::vector<std::string> &remarks) {
  const Variant &variant = kernel.variants[0];
  if (s.kind == "cuda")
    return variant.cudaText;
  std::string programName = absl::StrCat(kernel.name, ".cu");
  auto ours = [&](const absl::Status &status) { // the text is kernelc's, so its errors are too
    return status.code() == absl::StatusCode::kInvalidArgument ? absl::InternalError(status.message()) : status;
  };
  if (s.kind == "ptx") {
    timer.phase("NVRTC");
    absl::StatusOr<Nvrtc *> nvrtc = session.nvrtc();
    if (!nvrtc.ok())
      return nvrtc.status();
    absl::StatusOr<std::string> ptx = (*nvrtc)->compileToPtx(variant.cudaText, programName, s.arch);
    return ptx.ok() ? ptx : ours(ptx.status());
  }
  absl::StatusOr<VariantCode> code = codes.compile(variant, programName);
  if (!code.ok())
    return ours(code.status());
  for (const Cubin &cubin : code->cubins)
    addRemarks(cubin, remarks);
  return s.kind == "header" ? emitCudaHeader(kernel, code->images(variant)) : code->cubins[0].bytes;
}

/// One run of the command: compiles a file's kernels one after the other, and gathers what all of them share.
class Compilation {
public:
  Compilation(const Settings &s, std::vector<std::string> &remarks, PhaseTimer &timer) : s_(s), remarks_(remarks), timer_(timer) {}

  absl::Status run() {
    if (absl::Status read = readProgram(); !read.ok())
      return read;
    if (s_.kind == "te" && s_.dumpTo.empty()) {
      absl::Status status = program_->withModule([&](mlir::ModuleOp module) {
        product_ = printed(module);
        return absl::OkStatus();
      });
      return status.ok() ? writeOutput(s_.output, product_) : status;
    }
    session_ = Session::create();
    codes_.emplace(s_, *session_, timer_);
    if (s_.kind == "cubin" || s_.kind == "header")
      session_->prepareCompiler();
    std::vector<absl::Status> refused; // one kernel's errors hide no other's
    for (Kernel &kernel : kernels_) {
      absl::Status status = add(kernel, /*finishes=*/refused.empty());
      if (absl::IsInvalidArgument(status))
        refused.push_back(status);
      else if (!status.ok())
        return status;
    }
    if (!refused.empty())
      return absl::InvalidArgumentError(
          absl::StrJoin(refused, "\n", [](std::string *out, const absl::Status &r) { absl::StrAppend(out, r.message()); }));
    return write();
  }

private:
  absl::Status readProgram() {
    timer_.phase("read and import");
    absl::StatusOr<Source> source = readSource(s_.file, s_.source);
    if (!source.ok())
      return source.status();
    absl::StatusOr<std::shared_ptr<Program>> program = Program::create(source->text, source->options);
    if (!program.ok())
      return program.status();
    program_ = *std::move(program);
    for (const std::string &warning : program_->warnings())
      printMessage(warning);
    kernels_ = program_->kernels();
    absl::StatusOr<SizeFacts> facts = readFacts(s_);
    if (!facts.ok())
      return facts.status();
    facts_ = *std::move(facts);
    if (absl::Status known = checkFacts(s_, kernels_); !known.ok())
      return known;
    if (s_.kind == "ptx" || s_.kind == "cubin") // such a file holds one kernel
      return program_->findKernel("").status();
    return absl::OkStatus();
  }

  /// Adds a kernel to the product; what NVRTC makes only where the command `finishes`.
  absl::Status add(Kernel &kernel, bool finishes) {
    VariantOptions options = variantOptions(s_, kernel, facts_);
    timer_.phase(absl::StrCat("passes of ", kernel.name));
    std::optional<Stage> stage = stageOf(s_.kind);
    absl::Status status = withTuned(*session_, *program_, kernel, options, remarks_, [&] { return runPasses(kernel, options, stage); });
    if (!status.ok() || stage || !finishes)
      return status;
    const Variant &variant = kernel.variants[0];
    remarks_.insert(remarks_.end(), variant.remarks.begin(), variant.remarks.end());
    if (!s_.dumpTo.empty())
      if (absl::Status w = writeOutput(absl::StrCat(s_.dumpTo, "/", kernel.name, ".5-cuda.cu"), variant.cudaText); !w.ok())
        return w;
    if (s_.kind == "json")
      return absl::OkStatus();
    absl::StatusOr<std::string> text = finish(s_, *session_, *codes_, kernel, timer_, remarks_);
    if (!text.ok())
      return text.status();
    if (s_.kind == "cuda")
      texts_.push_back(*std::move(text));
    else
      product_ += *text;
    return absl::OkStatus();
  }

  /// To `stage`, whose text joins the product, or to the kernel's variant.
  absl::Status runPasses(Kernel &kernel, const VariantOptions &options, std::optional<Stage> stage) {
    if (!s_.dumpTo.empty())
      if (absl::Status dumped = dumpPhases(*program_, kernel, options, s_.dumpTo); !dumped.ok())
        return dumped;
    if (stage) {
      absl::StatusOr<std::string> text = emitStage(*program_, kernel, options, *stage, remarks_);
      if (text.ok())
        product_ += *text;
      return text.status();
    }
    absl::Status added = program_->withModule([&](mlir::ModuleOp module) { return addVariant(module, options, kernel); }, &remarks_);
    if (added.ok())
      keepBest(s_, *session_, *codes_, *program_, options, kernel, remarks_);
    return added;
  }

  absl::Status write() {
    if (s_.kind == "json") {
      absl::StatusOr<std::string> json = artifactToJson(kernels_);
      if (!json.ok())
        return absl::InternalError(json.status().message());
      product_ = *std::move(json);
    }
    if (!texts_.empty())
      product_ = codegen::joinTexts(texts_, findTarget(s_.arch)->generation);
    timer_.phase("write");
    if (s_.helpers != "separate")
      return writeOutput(s_.output, product_);
    std::filesystem::path path(s_.output), beside = path;
    beside.replace_filename(path.stem().string() + "_helpers.cuh");
    codegen::SeparateText parts = codegen::separateHelpers(product_, beside.filename().string());
    if (absl::Status written = writeOutput(beside.string(), parts.helpers); !written.ok())
      return written;
    return writeOutput(s_.output, parts.kernels);
  }

  const Settings &s_;
  std::vector<std::string> &remarks_;
  PhaseTimer &timer_;
  std::shared_ptr<Program> program_;
  std::vector<Kernel> kernels_;
  SizeFacts facts_;
  std::shared_ptr<Session> session_;
  std::optional<Codes> codes_;     ///< of this session
  std::vector<std::string> texts_; ///< CUDA C of each kernel
  std::string product_;
};

} // namespace

int compileCommand(const std::vector<std::string> &args) {
  Settings s;
  std::vector<std::string> files;
  Options options("compile", "FILE.kc [options]", "Compiles kernels. Without --emit and -o, CUDA C text goes to stdout.");
  s.source.add(options);
  options.value("--arch", s.arch, "sm_XX", "the GPU to compile for (sm_90a)")
      .value("--emit", s.kind, "KIND", absl::StrJoin(kKinds, ", "))
      .value("-o", s.output, "PATH", "where the product goes; its suffix chooses KIND (-: stdout)")
      .value("--variant", s.variant, "default|general", "dense, aligned and, with open sizes, below 2^30 elements; or anything")
      .flag("--general", s.general, "the same as --variant general")
      .list("--fact", s.facts, "NAME:DIV:MAX[:LIKE]",
            "what the variant may assume of a size (MAX -1: no bound), and a size to choose tiles for")
      .value("--helpers", s.helpers, "inline|separate", "device helpers in the CUDA text, or in FILE_helpers.cuh beside -o FILE.cu")
      .value("--dump-phases-to", s.dumpTo, "DIR", "also writes every form on the way down there")
      .flag("--timing", s.timing, "time of each phase, of the processors and by the clock, on stderr")
      .flag("--remarks", s.remarks, "what the compiler has to say about speed, on stderr")
      .positionals(files);
  addEnvironmentOptions(options);
  if (std::optional<int> code = options.parse(args))
    return *code;
  if (files.size() != 1)
    return options.usageError(files.empty() ? "which file?" : "one file at a time, not '" + files[0] + "' and '" + files[1] + "'");
  s.file = files[0];
  if (s.general)
    s.variant = "general";
  if (s.variant != "default" && s.variant != "general")
    return options.usageError("--variant is default or general");
  if (s.kind.empty())
    s.kind = kindOfSuffix(s.output);
  // A name with a suffix that says nothing (out.so) is a mistake; one without any is a file of CUDA text.
  if (std::string suffix = std::filesystem::path(s.output).extension().string(); s.kind.empty() && !suffix.empty())
    return options.usageError("-o " + s.output + ": no kind has the suffix '" + suffix +
                              "'; there are .cu, .ptx, .cubin, .h, .json, .te.mlir, .tile.mlir and .cu.mlir, or say --emit KIND");
  if (s.kind.empty())
    s.kind = "cuda";
  if (std::find(kKinds.begin(), kKinds.end(), s.kind) == kKinds.end()) {
    std::string near = findNearest(s.kind, kKinds);
    if (s.kind == "sass" || s.kind == "asm")
      return options.usageError("unknown kind '" + s.kind + "'; 'nvdisasm FILE' shows the instructions of '--emit cubin -o FILE'");
    if (s.kind.find(',') != std::string::npos)
      return options.usageError("one kind at a time, not '" + s.kind + "'; --dump-phases-to DIR writes every form");
    return options.usageError("unknown kind '" + s.kind + "'; " +
                              (near.empty() ? "kinds are " + absl::StrJoin(kKinds, ", ") : "did you mean '" + near + "'?"));
  }
  if (!findTarget(s.arch))
    return options.usageError("--arch " + s.arch + ": " + describeUnknownTarget(s.arch));
  if (s.helpers != "inline" && s.helpers != "separate")
    return options.usageError("--helpers is inline or separate, not '" + s.helpers + "'");
  if (s.helpers == "separate" && (s.kind != "cuda" || s.output == "-"))
    return options.usageError("--helpers separate writes two files: it needs CUDA text and -o FILE.cu");
  std::vector<std::string> remarks;
  PhaseTimer timer;
  absl::Status status = Compilation(s, remarks, timer).run();
  if (s.remarks)
    for (const std::string &r : remarks)
      printMessage(r);
  if (s.timing)
    timer.print();
  return status.ok() ? int(kDone) : reportFailure(status);
}

} // namespace kernelc::tools
