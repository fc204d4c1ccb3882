// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How fast the CPU device multiplies matrices, beside OpenBLAS on one thread when
// that library can be loaded. Prints one line per case: CPU time for one thread, wall time
// for more; checks nothing.
//   reference-matmul [size]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <string>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "reference/Reference.h"

using namespace kernelc;
using Clock = std::chrono::steady_clock;

static double seconds(Clock::time_point since) { return std::chrono::duration<double>(Clock::now() - since).count(); }
/// What one thread took, whatever else the machine does meanwhile.
static double cpuSeconds() { return double(std::clock()) / CLOCKS_PER_SEC; }

static std::string text(const std::string &type, bool transposed) {
  std::string tensor = "tensor<?x?x" + type + ">", quoted = "\"" + type + "\"";
  std::string widen = type == "f32" ? "" : "arith.extf";
  auto read = [&](const char *to, const char *name, const char *map) {
    std::string r = std::string("%") + to + "s = te.read %" + name + "[%i, %j, %k] map affine_map<(d0, d1, d2)[s0, s1, s2] -> (" + map +
                    ")> : " + tensor + "\n";
    return r + (type == "f32" ? "" : std::string("%") + to + " = arith.extf %" + to + "s : " + type + " to f32\n");
  };
  std::string suffix = type == "f32" ? "s" : "";
  return "te.kernel @matmul sizes [\"M\", \"N\", \"K\"] args [\"x\", \"w\"] : [" + quoted + ", " + quoted +
         "] [affine_map<()[s0, s1, s2] -> (s0, s2)>, affine_map<()[s0, s1, s2] -> (" + (transposed ? "s1, s2" : "s2, s1") +
         ")>] outs [\"y\"] : [\"f32\"] [affine_map<()[s0, s1, s2] -> (s0, s1)>] {\n^bb0(%x: " + tensor + ", %w: " + tensor +
         "):\n%y = te.reduce sum [\"i\", \"j\", \"k\"] parallel 2 extents affine_map<()[s0, s1, s2] -> (s0, s1, s2)> {\n"
         "^bb0(%i: index, %j: index, %k: index):\n" +
         read("a", "x", "d0, d2") + read("b", "w", transposed ? "d1, d2" : "d2, d1") + "%p = arith.mulf %a" + suffix + ", %b" + suffix +
         " : f32\nte.yield %p : f32\n} {name = \"y\"} : tensor<?x?xf32>\nte.return %y : tensor<?x?xf32>\n}\n";
}

int main(int argc, char **argv) {
  int64_t n = argc > 1 ? std::atoll(argv[1]) : 1024;
  double flops = 2.0 * double(n) * double(n) * double(n);
  std::vector<float> x(n * n), w(n * n), y(n * n);
  for (int64_t i = 0; i < n * n; ++i) {
    x[i] = float(i % 17) - 8;
    w[i] = float(i % 13) - 6;
  }
  ThreadPool pool;
  auto view = [&](void *data, ElementType type) { return TensorView{data, type, {n, n}, {n, 1}}; };
  mlir::DialectRegistry registry;
  registry.insert<te::TeDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  mlir::MLIRContext context(registry);
  double mine = 0; // f32, x w, one thread
  for (const char *type : {"f32", "bf16"})
    for (bool transposed : {false, true})
      for (auto arithmetic : {reference::Arithmetic::Own, reference::Arithmetic::F64}) {
        auto module = mlir::parseSourceString<mlir::ModuleOp>(text(type, transposed), &context);
        auto start = Clock::now();
        auto kernel = reference::ReferenceKernel::compile(*module->getOps<te::KernelOp>().begin(), arithmetic);
        double compile = seconds(start);
        if (!kernel.ok()) {
          std::fprintf(stderr, "%s\n", kernel.status().ToString().c_str());
          return 1;
        }
        bool own = arithmetic == reference::Arithmetic::Own;
        std::vector<double> yd(own ? 0 : n * n);
        auto element = *findElementType(type);
        for (ThreadPool *p : {static_cast<ThreadPool *>(nullptr), &pool}) {
          double best = 1e9;
          for (int i = 0; i < 3; ++i) {
            start = Clock::now();
            double cpu = cpuSeconds();
            auto out = own ? view(y.data(), ElementType::f32) : view(yd.data(), ElementType::f64);
            if (!(*kernel)->run({n, n, n}, {view(x.data(), element), view(w.data(), element)}, {out}, p).ok())
              return 1;
            best = std::min(best, p ? seconds(start) : cpuSeconds() - cpu);
          }
          if (own && !p && !transposed && !std::strcmp(type, "f32"))
            mine = best;
          std::printf("%4s %s %s threads %d: %7.1f ms %6.1f GFLOP/s (compiled in %.0f ms)\n", type, transposed ? "x w^T" : "x w  ",
                      own ? "own" : "f64", p ? p->size() : 1, best * 1e3, flops / best / 1e9, compile * 1e3);
        }
      }
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  void *blas = dlopen("libopenblas.so.0", RTLD_NOW);
  using Sgemm = void (*)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
  if (auto sgemm = blas ? reinterpret_cast<Sgemm>(dlsym(blas, "cblas_sgemm")) : nullptr) {
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      double cpu = cpuSeconds();
      sgemm(101, 111, 111, n, n, n, 1, x.data(), n, w.data(), n, 0, y.data(), n);
      best = std::min(best, cpuSeconds() - cpu);
    }
    std::printf(" f32 OpenBLAS threads 1: %7.1f ms %6.1f GFLOP/s; kernelc takes %.1f times as long\n", best * 1e3, flops / best / 1e9,
                mine / best);
  }
}
