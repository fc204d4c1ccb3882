// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An application that compiles a kernel from a string and calls it: on the CPU, and on
// a stream of its own where there is a GPU. Built against an installed kernelc.
#include <cstdio>
#include <vector>

#include "driver/jit/Session.h"

namespace {

constexpr char kText[] = R"(
def axpy(a: f32, x: f32[N], y: f32[N]) -> (z: f32[N]) { z[i] = a * x[i] + y[i] }
)";

/// A dense vector as an argument; `device` is a CUDA ordinal and means nothing on the CPU.
kernelc::DeviceTensor vectorOf(void *data, int64_t n, int device = 0) { return {data, kernelc::ElementType::f32, {n}, {1}, device}; }

int fail(const absl::Status &status) {
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}

} // namespace

int main() {
  auto session = kernelc::Session::create();
  auto kernel = session->compile(kText);
  if (!kernel.ok())
    return fail(kernel.status());

  std::vector<float> x(1000, 1), y(1000, 2), z(1000);
  auto a = *kernelc::ScalarValue::fromDouble(kernelc::ElementType::f32, 3);
  absl::Status status =
      (*kernel)->call({kernelc::Place::Cpu}, {a, vectorOf(x.data(), 1000), vectorOf(y.data(), 1000), vectorOf(z.data(), 1000)});
  if (!status.ok())
    return fail(status);
  std::printf("cpu: z[0] = %g\n", z[0]);
  if (z[0] != 5 || z[999] != 5)
    return 1;

  // Wrong arguments are a status that names the parameter, before anything runs.
  status = (*kernel)->call({kernelc::Place::Cpu}, {a, vectorOf(x.data(), 1000), vectorOf(y.data(), 999), vectorOf(z.data(), 1000)});
  std::printf("expected error: %s\n", std::string(status.message()).c_str());
  if (status.ok())
    return 1;

  std::string why;
  kernelc::Place place = session->defaultPlace(&why);
  std::printf("default device: %s\n", why.c_str());
  if (place.kind != kernelc::Place::Cuda)
    return 0;
  auto runtime = kernelc::Runtime::instance();
  auto device = (*runtime)->device(place.ordinal);
  if (!device.ok())
    return fail(device.status());
  auto stream = kernelc::Stream::create(**device);
  auto dx = kernelc::Buffer::allocate(**device, 4000), dy = kernelc::Buffer::allocate(**device, 4000),
       dz = kernelc::Buffer::allocate(**device, 4000);
  if (!stream.ok() || !dx.ok() || !dy.ok() || !dz.ok())
    return 1;
  if (!dx->copyFromHost(x.data(), 4000, **stream).ok() || !dy->copyFromHost(y.data(), 4000, **stream).ok())
    return 1;
  // Compiled, checked and packed once; launched as often as needed.
  auto bound = (*kernel)->bind(place, {a, vectorOf(dx->data(), 1000), vectorOf(dy->data(), 1000), vectorOf(dz->data(), 1000)});
  if (!bound.ok())
    return fail(bound.status());
  for (int i = 0; i < 10; ++i)
    if (absl::Status s = bound->launch((*stream)->handle()); !s.ok())
      return fail(s);
  if (absl::Status s = dz->copyToHost(z.data(), 4000, **stream); !s.ok())
    return fail(s);
  std::printf("cuda: z[0] = %g\n", z[0]);
  return z[0] == 5 ? 0 : 1;
}
