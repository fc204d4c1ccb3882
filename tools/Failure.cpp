// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/Failure.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <iostream>

#include "tools/Messages.h"
#include "tools/Options.h"

namespace kernelc::tools {
namespace {

// Plain buffers, so that a signal handler may read them.
struct Remembered {
  std::string command, sourceName, sourceText;
};
Remembered &remembered() {
  static auto *r = new Remembered();
  return *r;
}

void writeFile(const std::string &path, const std::string &bytes) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    return;
  for (size_t at = 0; at < bytes.size();) {
    ssize_t n = ::write(fd, bytes.data() + at, bytes.size() - at);
    if (n <= 0)
      break;
    at += size_t(n);
  }
  ::close(fd);
}

/// Writes the command and the source; the folder, or "" if there was no room.
std::string writeReproducer(const std::string &message) {
  const char *tmp = ::getenv("TMPDIR");
  std::string folder = std::string(tmp && *tmp ? tmp : "/tmp") + "/kernelc-reproducer-XXXXXX";
  if (!::mkdtemp(folder.data()))
    return "";
  writeFile(folder + "/command", remembered().command + "\n");
  writeFile(folder + "/message", message + "\n");
  if (!remembered().sourceName.empty()) {
    std::string name = remembered().sourceName;
    name = name == "-" ? "stdin.kc" : name.substr(name.find_last_of('/') + 1);
    writeFile(folder + "/" + name, remembered().sourceText);
  }
  return folder;
}

void onCrash(int signal) {
  ::signal(signal, SIG_DFL);
  std::string folder = writeReproducer(std::string("killed by signal ") + strsignal(signal));
  std::string text =
      "kernelc: internal error: " + std::string(strsignal(signal)) + (folder.empty() ? "" : "; a reproducer is in " + folder) + "\n";
  if (::write(2, text.data(), text.size()) < 0) {
  }
  ::_exit(kInternal);
}

} // namespace

void rememberCommand(const std::vector<std::string> &args) {
  remembered().command = "kernelc";
  for (const std::string &a : args)
    remembered().command += " '" + a + "'";
}

void rememberSource(const std::string &path, const std::string &text) {
  remembered().sourceName = path;
  remembered().sourceText = text;
}

int reportFailure(const absl::Status &status) {
  std::string message(status.message());
  // Diagnostics begin with their place, as editors want them.
  bool located = message.substr(0, message.find('\n')).find(": error: ") != std::string::npos;
  if (status.code() != absl::StatusCode::kInternal) {
    printMessage((located ? "" : "kernelc: ") + message);
    return kFailed;
  }
  std::string folder = writeReproducer(message);
  printMessage((located ? "" : "kernelc: internal error: ") + message);
  if (!folder.empty())
    std::cerr << "kernelc: a reproducer is in " << folder << "\n";
  return kInternal;
}

void installCrashHandler() {
  // On its own stack, because a deep recursion is the likeliest crash.
  static auto *memory = new char[1 << 16];
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = 1 << 16;
  ::sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_handler = onCrash;
  action.sa_flags = SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
    ::sigaction(signal, &action, nullptr);
}

} // namespace kernelc::tools
