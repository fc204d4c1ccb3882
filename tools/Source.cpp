// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/Source.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "tools/Failure.h"
#include "tools/Files.h"

namespace kernelc::tools {

void SourceOptions::add(Options &o) {
  o.value("--kernel", kernel, "NAME", "the kernel of the file (needed when it defines several)");
  o.list("--set", sets, "NAME=VALUE", "fixes a size or a const parameter");
  o.list("--precision", precision, "KEY=TYPE",
         "how products are computed: contract=tf32, bf16, f16, f8e4m3, f8e5m2, bf16x3 or tf32x3; accumulate=f32 or fast");
  o.value("--tolerance", tolerance, "rel=X", "the cheapest precision of products whose error bound holds");
  o.value("--schedule", schedule, "FILE", "takes schedules from a file");
}

absl::Status addConstants(Constants &constants, const std::vector<std::string> &sets) {
  for (const std::string &set : sets) {
    auto fail = [&](absl::string_view why) { return absl::InvalidArgumentError(absl::StrCat("--set ", set, ": ", why)); };
    size_t equals = set.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail("expected NAME=VALUE, as in --set N=1024");
    if (size_t comma = set.find(','); comma != std::string::npos && set.find('=', comma) != std::string::npos)
      return fail(absl::StrCat("one name each; write --set ", set.substr(0, comma), " --set ", set.substr(comma + 1)));
    absl::StatusOr<Constant> value = parseConstant(set.substr(equals + 1));
    if (!value.ok())
      return fail(value.status().message());
    if (!constants.emplace(set.substr(0, equals), *value).second)
      return fail("the name is set twice");
  }
  return absl::OkStatus();
}

absl::StatusOr<Source> readSource(const std::string &path, const SourceOptions &options) {
  Source source;
  if (!options.schedule.empty()) {
    absl::StatusOr<std::string> schedule = readInput(options.schedule);
    if (!schedule.ok())
      return schedule.status();
    if (schedule->find_first_not_of(" \t\r\n") == std::string::npos)
      return absl::InvalidArgumentError(
          absl::StrCat("'", options.schedule, "' is empty; a schedule file is a list of records, '[]' where there are none"));
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
  if (!options.tolerance.empty()) {
    if (options.tolerance.find('=') == std::string::npos)
      return absl::InvalidArgumentError(
          absl::StrCat("--tolerance ", options.tolerance, ": expected rel=X; write --tolerance rel=", options.tolerance));
    if (absl::Status s = addPolicy("--tolerance", options.tolerance); !s.ok())
      return s;
  }
  if (absl::Status s = addConstants(source.options.constants, options.sets); !s.ok())
    return s;
  absl::StatusOr<std::string> text = readInput(path);
  if (!text.ok()) {
    size_t colon = path.rfind(':'); // FILE:KERNEL, as test runners write it
    if (colon != std::string::npos && colon + 1 < path.size() && ::access(path.substr(0, colon).c_str(), R_OK) == 0)
      return absl::Status(text.status().code(), absl::StrCat(text.status().message(), "; a kernel of a file is named by an option, as in '",
                                                             path.substr(0, colon), " --kernel ", path.substr(colon + 1), "'"));
    return text.status();
  }
  if (text->find('\0') != std::string::npos)
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' is no text: it has zero bytes; a kernel's text is a FILE.kc"));
  source.text = *std::move(text);
  source.options.fileName = path == "-" ? "<stdin>" : path;
  source.options.kernel = options.kernel;
  rememberSource(path, source.text);
  return source;
}

} // namespace kernelc::tools
