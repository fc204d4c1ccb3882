// kernelc and kernelc-opt: one multi-call binary. Which tool runs is decided by
// the name it is called by, or by the first argument.
#include <iostream>
#include <string>
#include <vector>

#include "tools/Commands.h"

using namespace kernelc::tools;

int main(int argc, char **argv) {
  std::string self = argc > 0 ? argv[0] : "kernelc";
  self = self.substr(self.find_last_of('/') + 1);
  if (self == "kernelc-opt")
    return optMain(argc, argv);
  std::vector<std::string> args(argv + 1, argv + argc);
  std::string command = args.empty() ? "" : args[0];
  if (!args.empty())
    args.erase(args.begin());
  if (command == "opt")
    return optMain(argc - 1, argv + 1);
  if (command == "compile")
    return compileCommand(args);
  if (command == "fmt")
    return fmtCommand(args);
  std::cerr << "usage: kernelc compile|fmt|opt ...\n";
  return 2;
}
