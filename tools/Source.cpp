#include "tools/Source.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tools/Failure.h"
#include "tools/Files.h"

namespace kernelc::tools {

void SourceOptions::add(Options &o) {
  o.value("--kernel", kernel, "NAME", "the kernel of the file (needed when it defines several)");
  o.list("--set", sets, "NAME=N", "fixes a size or a const parameter");
  o.list("--precision", precision, "KEY=TYPE",
         "how products are computed: contract=tf32, bf16, f16, f8e4m3, f8e5m2, bf16x3 or tf32x3; accumulate=f32 or fast");
  o.value("--tolerance", tolerance, "rel=X", "the cheapest precision of products whose error bound holds");
  o.value("--schedule", schedule, "FILE", "takes schedules from a file");
}

absl::StatusOr<std::pair<std::string, int64_t>> parseSet(const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return absl::InvalidArgumentError(absl::StrCat("--set ", text, ": expected NAME=N"));
  std::string name = text.substr(0, equals), value = absl::AsciiStrToLower(text.substr(equals + 1));
  int64_t number = 0;
  if (value == "true" || value == "false")
    return std::make_pair(name, int64_t(value == "true"));
  if (!absl::SimpleAtoi(value, &number))
    return absl::InvalidArgumentError(absl::StrCat("--set ", text, ": expected an integer, True or False after '='"));
  return std::make_pair(name, number);
}

absl::StatusOr<Source> readSource(const std::string &path, const SourceOptions &options) {
  Source source;
  if (!options.schedule.empty()) {
    absl::StatusOr<std::string> schedule = readInput(options.schedule);
    if (!schedule.ok())
      return schedule.status();
    source.options.schedule = *std::move(schedule);
    source.options.scheduleName = options.schedule;
  }
  auto addPolicy = [&](const char *option, const std::string &text) {
    absl::Status s = addPrecision(source.options.precision, text);
    return s.ok() ? s : absl::Status(s.code(), absl::StrCat(option, " ", text, ": ", s.message()));
  };
  for (const std::string &text : options.precision)
    if (absl::Status s = addPolicy("--precision", text); !s.ok())
      return s;
  if (!options.tolerance.empty())
    if (absl::Status s = addPolicy("--tolerance", options.tolerance); !s.ok())
      return s;
  for (const std::string &set : options.sets) {
    absl::StatusOr<std::pair<std::string, int64_t>> parsed = parseSet(set);
    if (!parsed.ok())
      return parsed.status();
    source.options.constants.insert(*parsed);
  }
  absl::StatusOr<std::string> text = readInput(path);
  if (!text.ok())
    return text.status();
  source.text = *std::move(text);
  source.options.fileName = path == "-" ? "<stdin>" : path;
  source.options.kernel = options.kernel;
  rememberSource(path, source.text);
  return source;
}

} // namespace kernelc::tools
