// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/TuneRecords.h"

#include "absl/strings/str_cat.h"
#include "driver/compile/Program.h"
#include "driver/jit/PlanReport.h"
#include "runtime/CacheEntry.h"
#include "runtime/Device.h"

namespace kernelc::tools {
namespace {

Json sizesOf(const Call &call) {
  JsonObject sizes; // fixed by --set, or solved from the arguments
  for (const auto &[name, value] : call.kernel->program().options().constants)
    if (const double *number = std::get_if<double>(&value))
      sizes.push_back({name, *number});
    else if (const int64_t *integer = std::get_if<int64_t>(&value))
      sizes.push_back({name, *integer});
    else // beyond the integers of JSON
      sizes.push_back({name, toString(value)});
  const Kernel &kernel = call.kernel->signature();
  for (size_t i = 0; i < kernel.sizes.size() && i < call.arguments.sizes.size(); ++i)
    sizes.push_back({kernel.sizes[i].name, call.arguments.sizes[i]});
  return sizes;
}

/// Of the text, which says more than a kernel's name.
std::string digestOf(const std::string &text) { return CacheKey().add("text", text).hash().substr(0, 16); }

bool beginsWith(const Json &line, const JsonObject &call) {
  for (const auto &[name, value] : call)
    if (const Json *found = line.find(name); !found || !(*found == value))
      return false;
  return true;
}

std::string lineOf(JsonObject members) {
  absl::StatusOr<std::string> text = printJson(Json(std::move(members)));
  return text.ok() ? *text : ""; // a number that is not finite: not worth a line
}

} // namespace

TuneRecords::TuneRecords(const Call &call) : of_(call), kernel_(call.kernel->signature().name) {
  call_ = {{"kernel", kernel_}, {"text", digestOf(call.kernel->program().text())}};
  absl::StatusOr<Device *> device = Runtime::deviceAt(call.place.ordinal);
  if (device.ok())
    call_.insert(call_.end(), {{"target", (*device)->info().target()}, {"device", (*device)->info().name}});
  call_.push_back({"sizes", sizesOf(call)});
}

absl::Status TuneRecords::open(const std::string &path, bool resumes, TuneOptions *options) {
  if (resumes)
    KERNELC_RETURN_IF_ERROR(resume(path, options));
  records_.open(path, std::ios::app);
  return records_ ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrCat("cannot write '", path, "'"));
}

absl::Status TuneRecords::openProgress(const std::string &path) {
  progress_.open(path, std::ios::app);
  return progress_ ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrCat("cannot write '", path, "'"));
}

absl::Status TuneRecords::resume(const std::string &path, TuneOptions *options) const {
  std::ifstream file(path);
  double fastest = 0;
  int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    absl::StatusOr<Json> record = parseJson(line);
    if (!record.ok() && file.eof())
      break; // the last line of a search that was ended while it wrote
    if (!record.ok())
      return absl::InvalidArgumentError(absl::StrCat(path, ":", number, ": is no record of kernelc tune: ", record.status().message()));
    const Json *schedule = record->find("schedule"), *median = record->find("median_us");
    if (!beginsWith(*record, call_) || !schedule)
      continue;
    absl::StatusOr<std::string> text = printJson(*schedule);
    if (!text.ok())
      return text.status();
    options->tried.insert(*text);
    if (median && median->asDouble() && (!(fastest > 0) || *median->asDouble() < fastest)) {
      fastest = *median->asDouble();
      options->fastest = *text;
    }
  }
  return absl::OkStatus();
}

void TuneRecords::say(JsonObject event) {
  if (progress_.is_open())
    progress_ << lineOf(std::move(event)) << std::endl;
}

JsonArray TuneRecords::termsOf(const SchedulePoint &point) const {
  ProgramOptions options = of_.kernel->program().options();
  absl::StatusOr<std::string> schedule = printJson(toJson(point, kernel_));
  absl::StatusOr<Device *> device = Runtime::deviceAt(of_.place.ordinal);
  if (!schedule.ok() || !device.ok())
    return {};
  options.schedule = *schedule;
  options.scheduleName = "trial";
  absl::StatusOr<std::shared_ptr<JitKernel>> kernel = of_.session->compile(of_.kernel->program().text(), kernel_, options);
  if (!kernel.ok())
    return {};
  absl::StatusOr<std::vector<LaunchReport>> reports =
      (*kernel)->reportPlan((*device)->info().target(), of_.arguments.values((*kernel)->signature()));
  JsonArray launches;
  for (const LaunchReport &r : reports.ok() ? *reports : std::vector<LaunchReport>()) {
    JsonObject terms;
    for (const auto &[name, us] : r.chosen.terms)
      terms.push_back({name, us});
    if (terms.empty())
      return {};
    launches.push_back(std::move(terms));
  }
  return launches;
}

void TuneRecords::heard(const ScheduleTrial &t) {
  double us = t.seconds * 1e6;
  JsonObject outcome = t.rejected.empty() ? JsonObject{{"median_us", us}, {"of_best", t.ofBest}} : JsonObject{{"rejected", t.rejected}};
  if (t.rejected.empty() && (!(best_ > 0) || us < best_))
    best_ = us;
  JsonObject line = call_;
  line.push_back({"schedule", toJson(t.point, kernel_)});
  line.insert(line.end(), outcome.begin(), outcome.end());
  if (records_.is_open() && t.rejected.empty())
    line.push_back({"launches", termsOf(t.point)});
  if (records_.is_open())
    records_ << lineOf(std::move(line)) << std::endl;
  JsonObject event{{"trial", ++trials_}, {"best_us", best_}};
  event.insert(event.end(), outcome.begin(), outcome.end());
  say(std::move(event));
}

void TuneRecords::listen(TuneOptions *options) {
  options->heard = [this](const ScheduleTrial &t, const std::string &) { heard(t); };
  options->checks = [this](const SchedulePoint &point) {
    JsonObject line = call_;
    line.push_back({"checks", toJson(point, kernel_)});
    say(std::move(line));
  };
  options->measures = [this](size_t count) { say({{"measures", int64_t(count)}}); };
}

} // namespace kernelc::tools
