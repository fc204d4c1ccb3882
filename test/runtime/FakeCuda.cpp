// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/runtime/FakeCuda.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <utility>

using namespace kernelc::cuda;
namespace fake = kernelc::fakecuda;

// The handle types are opaque in CudaApi.h; here they get their contents.
namespace kernelc::cuda {
struct ContextObject {
  int device = -1;
  int retained = 0;
};
struct GraphObject {
  std::vector<fake::Launched> launches;
};
struct GraphExecObject {
  std::vector<fake::Launched> launches;
};
struct StreamObject {
  Context context = nullptr;
  int capture = kCaptureNone;
  bool blocking = true; // synchronises with the default stream
  std::vector<fake::Launched> captured;
};
struct EventObject {
  bool recorded = false;
  StreamHandle of = nullptr; ///< the stream that it was recorded on
  float milliseconds = 0;    ///< of the device's clock
};
struct FunctionObject {
  fake::FakeEntry entry;
  std::map<int, int> attributes;
};
struct KernelObject {
  FunctionObject function;
};
struct LibraryObject {
  bool real = false; ///< not makeCubin()'s: entries come into being when they are asked for
  std::map<std::string, std::unique_ptr<KernelObject>> kernels;
};
} // namespace kernelc::cuda

namespace {

struct State {
  std::recursive_mutex mutex;
  int devices = 2;
  int64_t calls = 0, failAt = -1;
  Result failWith = kSuccess, sticky = kSuccess, armedFault = kSuccess, pendingFault = kSuccess;
  bool delivered = false;
  std::map<std::string, int64_t> callsByName;
  std::set<std::string> hidden;
  std::map<int, std::unique_ptr<ContextObject>> contexts;
  std::map<DevicePtr, size_t> memory;
  std::map<DevicePtr, int> memoryDevices; ///< other than 0
  std::set<DevicePtr> foreignMemory;      ///< of a context that is nobody's primary one
  ContextObject foreignContext{0, 0};
  std::string streamLog, returnedLog;
  bool realCubins = false;
  std::set<StreamObject *> streams;
  std::set<EventObject *> events;
  std::set<LibraryObject *> libraries;
  std::set<GraphObject *> graphs;
  std::set<GraphExecObject *> execs;
  std::vector<fake::Launched> launched;
  std::map<std::string, std::function<void(const fake::Launched &)>> bodies;
  float milliseconds = 0; ///< the clock of the device
  std::map<std::string, std::map<int, int>> attributes;
  std::vector<std::string> misuses;
  StreamObject defaultStream;
};

State &state() {
  static State *s = new State;
  return *s;
}
thread_local std::vector<Context> contextStack;
thread_local int depth = 0; // of calls into this library

/// One call at a time.
struct Entered {
  std::lock_guard<std::recursive_mutex> lock{state().mutex};
  Entered() { ++depth; }
  ~Entered() { --depth; }
};

Result misuse(const std::string &what, Result r = kInvalidValue) {
  state().misuses.push_back(what);
  return r;
}

/// Counts the call, then delivers what was ordered for it.
Result enter(const char *name) {
  State &s = state();
  ++s.callsByName[name];
  if (s.sticky)
    return s.sticky;
  if (s.calls++ == s.failAt) {
    s.delivered = true;
    if (s.failWith >= 700 && s.failWith != 801 && s.failWith < 800)
      s.sticky = s.failWith;
    return s.failWith;
  }
  return kSuccess;
}

Result needContext(const char *name) {
  if (contextStack.empty() || !contextStack.back())
    return misuse(std::string(name) + " without a current context", 201);
  return kSuccess;
}

thread_local StreamObject threadStream;
bool isSpecial(StreamHandle h) { return h == kStreamLegacy || h == kStreamPerThread; }
StreamObject *streamOf(StreamHandle h) {
  return h == kStreamPerThread ? &threadStream : h && h != kStreamLegacy ? h : &state().defaultStream;
}
std::string nameOf(StreamHandle h) { return std::to_string(h == kStreamLegacy ? 0 : reinterpret_cast<uintptr_t>(h)); }

bool capturing() {
  for (StreamObject *s : state().streams)
    if (s->capture == kCaptureActive)
      return true;
  return false;
}

/// What a capture forbids: fails and breaks the capture, as the driver does.
Result forbidInCapture(const char *name) {
  if (!capturing())
    return kSuccess;
  for (StreamObject *s : state().streams)
    if (s->capture == kCaptureActive)
      s->capture = kCaptureInvalidated;
  return misuse(std::string(name) + " during a capture", 900);
}

/// A call that waits delivers the fault of an earlier launch.
Result deliverFault() {
  State &s = state();
  if (s.pendingFault) {
    s.sticky = s.pendingFault;
    s.pendingFault = kSuccess;
  }
  return s.sticky;
}

Result checkMemory(DevicePtr p, size_t bytes, const char *name) {
  auto it = state().memory.upper_bound(p);
  if (it == state().memory.begin())
    return misuse(std::string(name) + " outside device memory");
  --it;
  if (p + bytes > it->first + it->second)
    return misuse(std::string(name) + " past the end of an allocation");
  return kSuccess;
}

void execute(const fake::Launched &l) {
  state().launched.push_back(l);
  state().streamLog += "launch " + l.entry + " on " + nameOf(l.stream) + "\n";
  auto body = state().bodies.find(l.entry);
  if (body != state().bodies.end())
    body->second(l);
}

} // namespace

#define ENTER(name)                                                                                                                        \
  Entered entered;                                                                                                                         \
  if (Result r = enter(#name))                                                                                                             \
    return r;
#define ENTER_CONTEXT(name)                                                                                                                \
  ENTER(name)                                                                                                                              \
  if (Result r = needContext(#name))                                                                                                       \
    return r;

namespace {

Result cuInit(unsigned) { ENTER(cuInit) return state().devices ? kSuccess : kNoDevice; }
Result cuDriverGetVersion(int *v) {
  ENTER(cuDriverGetVersion) *v = 13000;
  return kSuccess;
}
Result cuGetErrorName(Result e, const char **name) {
  static const std::map<Result, const char *> names = {{0, "CUDA_SUCCESS"},
                                                       {1, "CUDA_ERROR_INVALID_VALUE"},
                                                       {2, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                       {4, "CUDA_ERROR_DEINITIALIZED"},
                                                       {100, "CUDA_ERROR_NO_DEVICE"},
                                                       {200, "CUDA_ERROR_INVALID_IMAGE"},
                                                       {201, "CUDA_ERROR_INVALID_CONTEXT"},
                                                       {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
                                                       {400, "CUDA_ERROR_INVALID_HANDLE"},
                                                       {500, "CUDA_ERROR_NOT_FOUND"},
                                                       {600, "CUDA_ERROR_NOT_READY"},
                                                       {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                       {719, "CUDA_ERROR_LAUNCH_FAILED"},
                                                       {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"}};
  auto it = names.find(e);
  if (it == names.end())
    return kInvalidValue;
  *name = it->second;
  return kSuccess;
}
Result cuGetErrorString(Result e, const char **text) {
  *text = e == 700 ? "an illegal memory access was encountered" : "fake error";
  return kSuccess;
}
Result cuDeviceGetCount(int *n) {
  ENTER(cuDeviceGetCount) *n = state().devices;
  return kSuccess;
}
Result cuDeviceGet(DeviceId *d, int ordinal) {
  ENTER(cuDeviceGet) *d = ordinal;
  return kSuccess;
}
Result cuDeviceGetName(char *name, int size, DeviceId) {
  ENTER(cuDeviceGetName)
  std::strncpy(name, "Fake H200", size);
  return kSuccess;
}
Result cuDeviceGetAttribute(int *v, int a, DeviceId) {
  ENTER(cuDeviceGetAttribute)
  switch (a) {
  case kMaxThreadsPerBlock: *v = 1024; break;
  case kMultiprocessorCount: *v = 132; break;
  case kClockRate: *v = 1980000; break;
  case kMemoryClockRate: *v = 3201000; break;
  case kMemoryBusWidth: *v = 6144; break;
  case kL2CacheSize: *v = 50 << 20; break;
  case kComputeCapabilityMajor: *v = 9; break;
  case kComputeCapabilityMinor: *v = 0; break;
  case kMaxSharedPerBlockOptin: *v = 232448; break;
  case kClusterLaunch: *v = 1; break;
  default: return kInvalidValue;
  }
  return kSuccess;
}
Result cuDeviceTotalMem(size_t *b, DeviceId) {
  ENTER(cuDeviceTotalMem) *b = size_t(141) << 30;
  return kSuccess;
}
Result cuDevicePrimaryCtxRetain(Context *c, DeviceId d) {
  ENTER(cuDevicePrimaryCtxRetain)
  auto &slot = state().contexts[d];
  if (!slot)
    slot = std::make_unique<ContextObject>(ContextObject{d, 0});
  ++slot->retained;
  *c = slot.get();
  return kSuccess;
}
Result cuDevicePrimaryCtxRelease(DeviceId d) {
  ENTER(cuDevicePrimaryCtxRelease)
  auto &slot = state().contexts[d];
  if (!slot || slot->retained == 0)
    return misuse("release of a context that nobody holds");
  --slot->retained;
  return kSuccess;
}
Result cuCtxGetCurrent(Context *c) {
  ENTER(cuCtxGetCurrent)
  *c = contextStack.empty() ? nullptr : contextStack.back();
  return kSuccess;
}
Result cuCtxPushCurrent(Context c) {
  ENTER(cuCtxPushCurrent) contextStack.push_back(c);
  return kSuccess;
}
Result cuCtxPopCurrent(Context *c) {
  Entered entered;
  // The stack is this thread's own: restoring it must work whatever else is broken.
  Result r = enter("cuCtxPopCurrent");
  if (contextStack.empty())
    return misuse("pop of an empty context stack", 201);
  *c = contextStack.back();
  contextStack.pop_back();
  return r;
}
Result cuCtxSynchronize() { ENTER_CONTEXT(cuCtxSynchronize) return deliverFault(); }
Result cuMemGetInfo(size_t *f, size_t *t) {
  ENTER_CONTEXT(cuMemGetInfo) *f = *t = size_t(141) << 30;
  return kSuccess;
}
Result cuMemAlloc(DevicePtr *p, size_t bytes) {
  ENTER_CONTEXT(cuMemAlloc)
  if (Result r = forbidInCapture("cuMemAlloc"))
    return r;
  if (!bytes)
    return misuse("cuMemAlloc of 0 bytes");
  if (bytes > (size_t(1) << 32))
    return kOutOfMemory;
  void *m = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  std::memset(m, 0xa5, bytes); // device memory holds anything
  *p = reinterpret_cast<DevicePtr>(m);
  state().memory[*p] = bytes;
  return kSuccess;
}
Result cuMemHostAlloc(void **p, size_t bytes, unsigned flags) {
  ENTER_CONTEXT(cuMemHostAlloc)
  if (Result r = forbidInCapture("cuMemHostAlloc"))
    return r;
  if (flags != 3) // portable and mapped: any device may write to it
    return misuse("cuMemHostAlloc that is not for all devices");
  *p = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  state().memory[reinterpret_cast<DevicePtr>(*p)] = bytes;
  return kSuccess;
}
Result cuMemFree(DevicePtr p) {
  ENTER_CONTEXT(cuMemFree)
  if (!state().memory.erase(p))
    return misuse("free of memory that is not allocated");
  std::free(reinterpret_cast<void *>(p));
  state().memoryDevices.erase(p);
  return deliverFault();
}
Result cuMemcpyHtoDAsync(DevicePtr d, const void *s, size_t n, StreamHandle) {
  ENTER_CONTEXT(cuMemcpyHtoDAsync)
  if (Result r = checkMemory(d, n, "cuMemcpyHtoDAsync"))
    return r;
  std::memcpy(reinterpret_cast<void *>(d), s, n);
  return kSuccess;
}
Result cuMemcpyDtoHAsync(void *d, DevicePtr s, size_t n, StreamHandle) {
  ENTER_CONTEXT(cuMemcpyDtoHAsync)
  if (Result r = checkMemory(s, n, "cuMemcpyDtoHAsync"))
    return r;
  std::memcpy(d, reinterpret_cast<void *>(s), n);
  return kSuccess;
}
Result cuMemcpyDtoDAsync(DevicePtr d, DevicePtr s, size_t n, StreamHandle) {
  ENTER_CONTEXT(cuMemcpyDtoDAsync)
  std::memmove(reinterpret_cast<void *>(d), reinterpret_cast<void *>(s), n);
  return kSuccess;
}
Result cuMemsetD8Async(DevicePtr d, unsigned char v, size_t n, StreamHandle) {
  ENTER_CONTEXT(cuMemsetD8Async)
  if (Result r = checkMemory(d, n, "cuMemsetD8Async"))
    return r;
  std::memset(reinterpret_cast<void *>(d), v, n);
  return kSuccess;
}
Result cuStreamCreate(StreamHandle *s, unsigned flags) {
  ENTER_CONTEXT(cuStreamCreate)
  *s = new StreamObject{contextStack.back()};
  (*s)->blocking = !(flags & kStreamNonBlocking);
  state().streams.insert(*s);
  return kSuccess;
}
Result cuStreamDestroy(StreamHandle s) {
  ENTER_CONTEXT(cuStreamDestroy)
  if (!state().streams.erase(s))
    return misuse("destroy of an unknown stream", 400);
  delete s;
  return kSuccess;
}
Result cuStreamSynchronize(StreamHandle s) {
  ENTER_CONTEXT(cuStreamSynchronize)
  if (streamOf(s)->capture == kCaptureActive) {
    streamOf(s)->capture = kCaptureInvalidated;
    return misuse("cuStreamSynchronize during a capture", 900);
  }
  state().streamLog += "synchronize " + nameOf(s) + "\n";
  return deliverFault();
}
Result cuPointerGetAttribute(void *value, int attribute, DevicePtr p) {
  ENTER(cuPointerGetAttribute)
  auto it = state().memory.upper_bound(p);
  if (it == state().memory.begin() || p >= std::prev(it)->first + std::prev(it)->second)
    return kInvalidValue;
  DevicePtr block = std::prev(it)->first;
  auto device = state().memoryDevices.find(block);
  int ordinal = device == state().memoryDevices.end() ? 0 : device->second;
  if (attribute == kPointerDeviceOrdinal)
    *static_cast<int *>(value) = ordinal;
  else if (attribute == kPointerContext)
    *static_cast<Context *>(value) = state().foreignMemory.count(block) ? &state().foreignContext : state().contexts[ordinal].get();
  else
    return kInvalidValue;
  return kSuccess;
}
Result cuStreamQuery(StreamHandle) { ENTER_CONTEXT(cuStreamQuery) return deliverFault(); }
Result cuStreamWaitEvent(StreamHandle s, EventHandle e, unsigned) {
  ENTER_CONTEXT(cuStreamWaitEvent)
  if (e->recorded) // else there is nothing to wait for
    state().streamLog += "wait " + nameOf(s) + " for " + nameOf(e->of) + "\n";
  return kSuccess;
}
Result cuStreamIsCapturing(StreamHandle s, int *status) {
  ENTER(cuStreamIsCapturing)
  if (s && !isSpecial(s) && !state().streams.count(s))
    return misuse("cuStreamIsCapturing of a stream that is not alive", 400);
  for (StreamObject *other : state().streams)
    if (!s && other->blocking && other->capture == kCaptureActive)
      return kCaptureImplicit;
  *status = streamOf(s)->capture;
  return kSuccess;
}
Result cuStreamBeginCapture(StreamHandle s, int) {
  ENTER_CONTEXT(cuStreamBeginCapture)
  if (!s)
    return 900;
  s->capture = kCaptureActive;
  s->captured.clear();
  return kSuccess;
}
Result cuStreamEndCapture(StreamHandle s, Graph *g) {
  ENTER_CONTEXT(cuStreamEndCapture)
  int was = s->capture;
  s->capture = kCaptureNone;
  *g = nullptr;
  if (was != kCaptureActive)
    return 901;
  *g = new GraphObject{s->captured};
  state().graphs.insert(*g);
  return kSuccess;
}
Result cuGraphInstantiateWithFlags(GraphExec *e, Graph g, uint64_t) {
  ENTER_CONTEXT(cuGraphInstantiateWithFlags)
  *e = new GraphExecObject{g->launches};
  state().execs.insert(*e);
  return kSuccess;
}
Result cuGraphLaunch(GraphExec e, StreamHandle) {
  ENTER_CONTEXT(cuGraphLaunch)
  for (const fake::Launched &l : e->launches)
    execute(l);
  return kSuccess;
}
Result cuGraphDestroy(Graph g) {
  ENTER(cuGraphDestroy) state().graphs.erase(g);
  delete g;
  return kSuccess;
}
Result cuGraphExecDestroy(GraphExec e) {
  ENTER(cuGraphExecDestroy) state().execs.erase(e);
  delete e;
  return kSuccess;
}
Result cuEventCreate(EventHandle *e, unsigned) {
  ENTER_CONTEXT(cuEventCreate)
  *e = new EventObject;
  state().events.insert(*e);
  return kSuccess;
}
Result cuEventDestroy(EventHandle e) {
  ENTER_CONTEXT(cuEventDestroy)
  if (!state().events.erase(e))
    return misuse("destroy of an unknown event", 400);
  delete e;
  return kSuccess;
}
Result cuEventRecord(EventHandle e, StreamHandle s) {
  ENTER_CONTEXT(cuEventRecord)
  e->recorded = true;
  e->of = s;
  e->milliseconds = state().milliseconds;
  return kSuccess;
}
Result cuEventSynchronize(EventHandle) { ENTER_CONTEXT(cuEventSynchronize) return deliverFault(); }
Result cuEventQuery(EventHandle) { ENTER_CONTEXT(cuEventQuery) return deliverFault(); }
Result cuEventElapsedTime(float *ms, EventHandle a, EventHandle b) {
  ENTER_CONTEXT(cuEventElapsedTime)
  if (!a->recorded || !b->recorded)
    return 400;
  float between = b->milliseconds - a->milliseconds;
  *ms = between > 0 ? between : 0.5f;
  return kSuccess;
}
Result cuLibraryLoadData(Library *out, const void *code, int *, void **, unsigned, int *, void **, unsigned) {
  ENTER_CONTEXT(cuLibraryLoadData)
  if (Result r = forbidInCapture("cuLibraryLoadData"))
    return r;
  const char *image = static_cast<const char *>(code);
  if (std::memcmp(image,
                  "\x7f"
                  "ELF",
                  4) != 0)
    return kInvalidImage;
  auto library = std::make_unique<LibraryObject>();
  if (std::memcmp(image + 4, "FAKE", 4) != 0) {
    if (!state().realCubins)
      return kInvalidImage;
    library->real = true;
    *out = library.release();
    state().libraries.insert(*out);
    return kSuccess;
  }
  std::istringstream in(image + 64);
  std::string name;
  size_t n;
  while (in >> name >> n) {
    auto kernel = std::make_unique<KernelObject>();
    kernel->function.entry.name = name;
    kernel->function.entry.paramBytes.resize(n);
    for (int &b : kernel->function.entry.paramBytes)
      in >> b;
    in >> kernel->function.entry.maxThreads >> kernel->function.entry.staticShared;
    library->kernels[name] = std::move(kernel);
  }
  *out = library.release();
  state().libraries.insert(*out);
  return kSuccess;
}
Result cuLibraryUnload(Library l) {
  ENTER_CONTEXT(cuLibraryUnload)
  if (Result r = forbidInCapture("cuLibraryUnload"))
    return r;
  if (!state().libraries.erase(l))
    return misuse("unload of an unknown library", 400);
  delete l;
  return kSuccess;
}
Result cuLibraryGetKernel(KernelHandle *k, Library l, const char *name) {
  ENTER(cuLibraryGetKernel)
  auto it = l->kernels.find(name);
  if (it == l->kernels.end() && l->real) {
    it = l->kernels.emplace(name, std::make_unique<KernelObject>()).first;
    it->second->function.entry.name = name;
  }
  if (it == l->kernels.end())
    return 500;
  *k = it->second.get();
  return kSuccess;
}
Result cuKernelGetFunction(Function *f, KernelHandle k) {
  ENTER_CONTEXT(cuKernelGetFunction) *f = &k->function;
  return kSuccess;
}
Result cuFuncSetAttribute(Function f, int a, int v) {
  ENTER_CONTEXT(cuFuncSetAttribute)
  if (a == kFuncMaxDynamicSharedBytes && v + f->entry.staticShared > 232448)
    return kInvalidValue;
  f->attributes[a] = v;
  state().attributes[f->entry.name][a] = v;
  return kSuccess;
}
Result cuFuncGetAttribute(int *v, int a, Function f) {
  ENTER_CONTEXT(cuFuncGetAttribute)
  *v = a == kFuncMaxThreadsPerBlock ? f->entry.maxThreads : a == kFuncSharedBytes ? f->entry.staticShared : 32;
  return kSuccess;
}
Result cuFuncLoad(Function) { ENTER_CONTEXT(cuFuncLoad) return kSuccess; }
Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, Function, int, size_t) {
  ENTER_CONTEXT(cuOccupancyMaxActiveBlocksPerMultiprocessor)
  *n = 2;
  return kSuccess;
}
Result cuLaunchKernelEx(const LaunchConfig *c, Function f, void **params, void **) {
  ENTER_CONTEXT(cuLaunchKernelEx)
  if (!c->gridX || !c->gridY || !c->gridZ || !c->blockX || c->blockX > unsigned(f->entry.maxThreads))
    return misuse("launch with an illegal grid or block");
  auto limit = f->attributes.find(kFuncMaxDynamicSharedBytes);
  int allowed = limit == f->attributes.end() ? 48 * 1024 - f->entry.staticShared : limit->second;
  if (int64_t(c->sharedBytes) > allowed)
    return misuse("launch with more shared memory than the function allows");
  fake::Launched l;
  l.entry = f->entry.name;
  l.grid = c->gridX;
  l.block = c->blockX;
  l.shared = c->sharedBytes;
  l.stream = c->stream;
  for (unsigned i = 0; i < c->numAttributes; ++i)
    if (c->attributes[i].id == kAttrClusterDimension)
      l.cluster = c->attributes[i].clusterDim.x;
    else if (c->attributes[i].id == kAttrProgrammaticSerialization)
      l.dependent = c->attributes[i].flag;
  for (size_t i = 0; i < f->entry.paramBytes.size(); ++i) {
    auto *bytes = static_cast<const uint8_t *>(params[i]);
    l.args.emplace_back(bytes, bytes + f->entry.paramBytes[i]);
  }
  if (streamOf(c->stream)->capture == kCaptureActive) {
    streamOf(c->stream)->captured.push_back(std::move(l));
    return kSuccess;
  }
  execute(l);
  if (state().armedFault)
    state().pendingFault = std::exchange(state().armedFault, kSuccess);
  return kSuccess;
}
Result cuTensorMapEncodeTiled(TensorMap *map, int type, uint32_t rank, void *base, const uint64_t *dims, const uint64_t *strides,
                              const uint32_t *box, const uint32_t *, int, int swizzle, int, int) {
  ENTER(cuTensorMapEncodeTiled)
  if (rank < 1 || rank > 5 || reinterpret_cast<uintptr_t>(base) % 16 || reinterpret_cast<uintptr_t>(map) % 64)
    return kInvalidValue;
  for (uint32_t i = 0; i < rank; ++i)
    if (dims[i] < 1 || dims[i] > (uint64_t(1) << 32) || box[i] < 1 || box[i] > 256 || (i + 1 < rank && strides[i] % 16))
      return kInvalidValue;
  fake::EncodedMap m{fake::kMapMagic,
                     reinterpret_cast<uint64_t>(base),
                     uint32_t(type),
                     rank,
                     dims[0],
                     rank > 1 ? dims[1] : 0,
                     rank > 1 ? strides[0] : 0,
                     box[0],
                     rank > 1 ? box[1] : 0,
                     uint32_t(swizzle)};
  std::memset(map, 0, sizeof(*map));
  std::memcpy(map, &m, sizeof(m));
  return kSuccess;
}

} // namespace

extern "C" KERNELC_FAKE_API Result cuGetProcAddress_v2(const char *symbol, void **fn, int, uint64_t, int *status) {
  static const std::map<std::string, void *> table = {
#define ROW(name, version, required, params) {#name, reinterpret_cast<void *>(&name)},
      KERNELC_CUDA_API(ROW)
#undef ROW
  };
  auto it = table.find(symbol);
  bool found = it != table.end() && !state().hidden.count(symbol);
  *fn = found ? it->second : nullptr;
  *status = found ? 0 : 1;
  return found ? kSuccess : 500;
}

namespace kernelc::fakecuda {

void reset() {
  State &s = state();
  std::lock_guard<std::recursive_mutex> lock(s.mutex);
  for (auto &[p, bytes] : s.memory)
    std::free(reinterpret_cast<void *>(p));
  for (auto *o : s.streams)
    delete o;
  for (auto *o : s.events)
    delete o;
  for (auto *o : s.libraries)
    delete o;
  for (auto *o : s.graphs)
    delete o;
  for (auto *o : s.execs)
    delete o;
  s.devices = 2;
  s.calls = 0;
  s.failAt = -1;
  s.failWith = s.sticky = s.armedFault = s.pendingFault = kSuccess;
  s.delivered = false;
  s.callsByName.clear();
  s.hidden.clear();
  s.contexts.clear();
  s.memory.clear();
  s.memoryDevices.clear();
  s.foreignMemory.clear();
  s.streamLog.clear();
  s.realCubins = false;
  s.streams.clear();
  s.events.clear();
  s.libraries.clear();
  s.graphs.clear();
  s.execs.clear();
  s.launched.clear();
  s.bodies.clear();
  s.attributes.clear();
  s.misuses.clear();
  s.defaultStream = {};
  contextStack.clear();
}
void setDeviceCount(int count) { state().devices = count; }
void hideFunction(const std::string &name) { state().hidden.insert(name); }
void failCall(int64_t n, Result error) {
  state().failAt = state().calls + n;
  state().failWith = error;
  state().delivered = false;
}
void faultNextLaunch(Result error) { state().armedFault = error; }
int64_t callCount() { return state().calls; }
int64_t callCount(const std::string &name) { return state().callsByName[name]; }
bool insideDriver() { return depth > 0; }
bool failureDelivered() { return state().delivered; }
std::vector<Launched> launches() {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  return state().launched;
}
void onLaunch(const std::string &entry, std::function<void(const Launched &)> body) { state().bodies[entry] = std::move(body); }
std::string streamLog() {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  return state().streamLog;
}
void clearStreamLog() {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  state().streamLog.clear();
}
void acceptRealCubins() { state().realCubins = true; }
int64_t liveObjects() {
  State &s = state();
  int64_t n = int64_t(s.memory.size() + s.streams.size() + s.events.size() + s.libraries.size() + s.graphs.size() + s.execs.size());
  for (auto &[d, c] : s.contexts)
    n += c->retained;
  return n;
}
void passTime(float milliseconds) { state().milliseconds += milliseconds; }
std::vector<std::string> misuses() { return state().misuses; }
void pushForeignContext() {
  static auto *foreign = new ContextObject{0, 0};
  contextStack.push_back(foreign);
}
Context currentContext() { return contextStack.empty() ? nullptr : contextStack.back(); }
int attribute(const std::string &entry, int a) { return state().attributes[entry][a]; }

std::string makeCubin(const std::vector<FakeEntry> &entries) {
  std::string image = "\x7f"
                      "ELFFAKE";
  image.resize(64, ' ');
  for (const FakeEntry &e : entries) {
    image += e.name + " " + std::to_string(e.paramBytes.size());
    for (int b : e.paramBytes)
      image += " " + std::to_string(b);
    image += " " + std::to_string(e.maxThreads) + " " + std::to_string(e.staticShared) + "\n";
  }
  return image;
}

} // namespace kernelc::fakecuda

const char *fakecuda_stream_log() { return (state().returnedLog = fake::streamLog()).c_str(); }
void fakecuda_clear_stream_log() { fake::clearStreamLog(); }
void fakecuda_accept_real_cubins() { fake::acceptRealCubins(); }
void *fakecuda_new_stream(int ordinal) {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  auto &context = state().contexts[ordinal];
  if (!context)
    context = std::make_unique<ContextObject>(ContextObject{ordinal, 0});
  auto *stream = new StreamObject{context.get()};
  state().streams.insert(stream);
  return stream;
}
void *fakecuda_new_memory(int ordinal, unsigned long long bytes) {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  auto p = reinterpret_cast<DevicePtr>(std::aligned_alloc(512, (bytes + 511) / 512 * 512));
  state().memory[p] = bytes;
  state().memoryDevices[p] = ordinal;
  return reinterpret_cast<void *>(p);
}
void fakecuda_make_foreign(void *memory) {
  std::lock_guard<std::recursive_mutex> lock(state().mutex);
  state().foreignMemory.insert(reinterpret_cast<DevicePtr>(memory));
}
