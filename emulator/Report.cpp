// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names and sums of what Report.h declares.
#include "emulator/Report.h"

namespace kernelc::emulator {

const char *findingKindName(FindingKind kind) {
  switch (kind) {
  case FindingKind::DataRace: return "data race";
  case FindingKind::OutOfBounds: return "out of bounds";
  case FindingKind::Uninitialised: return "uninitialised read";
  case FindingKind::Misaligned: return "misaligned access";
  case FindingKind::BarrierDivergence: return "barrier divergence";
  case FindingKind::Deadlock: return "deadlock";
  case FindingKind::StepBudget: return "step budget";
  case FindingKind::WriteToInput: return "write to an input";
  case FindingKind::LostAsyncWork: return "lost asynchronous work";
  case FindingKind::BarrierProtocol: return "barrier protocol";
  case FindingKind::ProxyFence: return "missing proxy fence";
  case FindingKind::OperandInFlight: return "operand in flight";
  case FindingKind::WrittenTwice: return "written twice";
  case FindingKind::Trap: return "trap";
  case FindingKind::InvalidOperation: return "invalid operation";
  }
  return "finding";
}

Counts &Counts::operator+=(const Counts &o) {
  barriers += o.barriers, warpOps += o.warpOps, mma += o.mma;
  globalLoadBytes += o.globalLoadBytes, globalStoreBytes += o.globalStoreBytes;
  globalRequests += o.globalRequests, globalSectors += o.globalSectors, globalMinimum += o.globalMinimum;
  sharedRequests += o.sharedRequests, sharedWavefronts += o.sharedWavefronts, sharedMinimum += o.sharedMinimum;
  return *this;
}

std::string Report::toString() const {
  std::string s;
  for (const Finding &f : findings) {
    s += f.message;
    if (f.count > 1)
      s += " [" + std::to_string(f.count) + " times]";
    s += "\n";
  }
  return s;
}

} // namespace kernelc::emulator
