// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long a kernel that the disk cache knows takes until it can be launched: program,
// specialised variant and cubin from the cache, loaded and bound, over FakeCuda (a
// libcuda without a GPU: all but the driver's own loading of the cubin). Each sample is a
// new process, once with NVRTC and driver not opened yet, once more after that as a new
// session. Needs libnvrtc, whose version is part of the cubin's key. Checks nothing.
//   cache-hit [samples [times]]   `times`: so many hits of a running process, for a profiler; the last one counts. They go around
//                                 kTexts texts, of which each has a kernel of another name
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "driver/jit/HostTensor.h"
#include "test/tools/FakeCubin.h"

using namespace kernelc;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int kTexts = 12;

struct Sample {
  double open = 0, compile = 0, bind = 0; ///< milliseconds
  double hit() const { return compile + bind; }
};

double since(Clock::time_point &start) {
  auto now = Clock::now();
  double ms = std::chrono::duration<double, std::milli>(now - start).count();
  start = now;
  return ms;
}

struct Workload {
  const char *file, *kernel;
  std::vector<std::vector<int64_t>> shapes; ///< by parameter

  std::string name(int number) const { return std::string(kernel) + std::to_string(number); }
  std::string text(int number) const {
    std::ifstream in(std::string(KERNELC_SOURCE_DIR "/examples/") + file);
    std::stringstream all;
    all << in.rdbuf();
    std::string text = all.str(), head = std::string("def ") + kernel;
    return text.replace(text.find(head + "("), head.size(), "def " + name(number));
  }
};

absl::StatusOr<Sample> measure(const std::string &folder, const Workload &w, const std::vector<LaunchValue> &values, int times) {
  Sample s;
  std::vector<std::string> texts;
  for (int i = 0; i < std::min(times, kTexts); ++i)
    texts.push_back(w.text(i));
  auto start = Clock::now();
  SessionOptions options;
  options.cachePath = folder;
  auto session = Session::create(options);
  if (absl::Status n = session->nvrtc().status(); !n.ok())
    return n;
  if (absl::Status r = Runtime::instance().status(); !r.ok())
    return r;
  s.open = since(start);
  for (int i = 0; i < times; ++i) {
    auto kernel = session->compile(texts[i % kTexts], w.name(i % kTexts));
    if (!kernel.ok())
      return kernel.status();
    s.compile = since(start);
    auto bound = (*kernel)->bind({Place::Cuda}, values);
    if (!bound.ok())
      return bound.status();
    s.bind = since(start);
  }
  return s;
}

/// Fills the cache.
absl::Status prepare(const std::string &folder, const Workload &w, const std::vector<LaunchValue> &values) {
  SessionOptions options;
  options.cachePath = folder;
  auto session = Session::create(options);
  std::vector<size_t> bytes; // of the first text's cubins: fakes are as long, since they are read and checked
  for (int i = 0; i < kTexts; ++i) {
    auto kernel = session->compile(w.text(i), w.name(i));
    if (!kernel.ok() || !session->nvrtc().ok())
      return kernel.ok() ? session->nvrtc().status() : kernel.status();
    auto k = (*kernel)->variantFor("sm_90a", values);
    if (!k.ok())
      return k.status();
    if (bytes.empty()) {
      absl::StatusOr<VariantCode> real = session->compileVariant(k->variants[0], "k.cu");
      if (!real.ok())
        return real.status();
      for (const Cubin &cubin : real->cubins)
        bytes.push_back(cubin.bytes.size());
      std::fprintf(stderr, "%s: %zu bytes of CUDA C, %zu cubins, the first of %zu bytes\n", w.kernel, k->variants[0].cudaText.size(),
                   bytes.size(), bytes[0]);
    }
    const std::vector<CompileUnit> units = compileUnitsOf(k->variants[0]);
    for (size_t u = 0; u < units.size(); ++u) {
      std::string fake = fakeCubinOf(*k);
      fake.resize(std::max(fake.size() + 1, bytes[u]), '\0');
      storeCubin(*session, units[u], k->variants[0].target, fake);
    }
  }
  return absl::OkStatus();
}

/// `body` in a process of its own.
template <typename Fn> std::pair<Sample, Sample> inChild(Fn body) {
  int fd[2];
  std::pair<Sample, Sample> result;
  if (pipe(fd))
    std::exit(1);
  if (fork() == 0) {
    result = body();
    std::_Exit(write(fd[1], &result, sizeof(result)) == sizeof(result) ? 0 : 1);
  }
  int status = 1;
  bool got = read(fd[0], &result, sizeof(result)) == sizeof(result);
  wait(&status);
  close(fd[0]);
  close(fd[1]);
  if (!got || status)
    std::exit(1);
  return result;
}

void print(const char *what, const Workload &w, std::vector<Sample> samples) {
  std::sort(samples.begin(), samples.end(), [](const Sample &a, const Sample &b) { return a.hit() < b.hit(); });
  const Sample &median = samples[samples.size() / 2];
  std::printf("| %s | %s | %.2f | %.2f | %.2f | %.2f | %.2f |\n", w.kernel, what, median.open, median.compile, median.bind, median.hit(),
              samples[0].hit());
}

} // namespace

int main(int argc, char **argv) {
  int count = argc > 1 ? std::atoi(argv[1]) : 21, times = argc > 2 ? std::atoi(argv[2]) : 1;
  ::setenv("KERNELC_LIBCUDA", KERNELC_FAKE_LIBCUDA, 1);
  std::string folder = "/tmp/kernelc-cache-hit-XXXXXX";
  if (!::mkdtemp(folder.data()))
    return 1;
  std::printf("| kernel | process | open ms | program ms | variant, cubin, bind ms | hit ms | least |\n|---|---|--:|--:|--:|--:|--:|\n");
  for (const Workload &w : {Workload{"softmax.kc", "softmax_rows", {{64, 1024}, {64, 1024}}},
                            Workload{"linear.kc", "linear", {{256, 256}, {256, 256}, {256}, {256, 256}}},
                            Workload{"attention.kc", "attention", {{1, 8, 128, 64}, {1, 2, 128, 64}, {1, 2, 128, 64}, {1, 8, 128, 64}}}}) {
    // Every sample binds tensors of the types that the text says.
    std::vector<Sample> first, later;
    for (int i = -1; i < count; ++i) {
      auto [a, b] = inChild([&]() -> std::pair<Sample, Sample> {
        SessionOptions uncached;
        uncached.diskCache = false;
        auto types = Session::create(uncached)->compile(w.text(0), w.name(0));
        std::vector<HostTensor> tensors;
        std::vector<LaunchValue> values;
        for (size_t p = 0; types.ok() && p < w.shapes.size(); ++p) {
          tensors.emplace_back((*types)->signature().params[p].type, w.shapes[p]);
          values.push_back(tensors.back().deviceTensor());
        }
        auto orDie = [](auto r) {
          if (!r.ok()) {
            std::fprintf(stderr, "%s\n", r.status().ToString().c_str());
            std::_Exit(1);
          }
          return *r;
        };
        if (i < 0) {
          if (absl::Status s = prepare(folder, w, values); !s.ok())
            std::fprintf(stderr, "%s\n", s.ToString().c_str());
          return {};
        }
        Sample fresh = orDie(measure(folder, w, values, 1));
        return {fresh, orDie(measure(folder, w, values, times))};
      });
      if (i >= 0) {
        first.push_back(a);
        later.push_back(b);
      }
    }
    print("new", w, first);
    print("running", w, later);
  }
}
