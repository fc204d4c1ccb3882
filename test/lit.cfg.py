# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# lit configuration for every folder below test/. The build tree's facts come from
# the generated lit.site.cfg.py, named by KERNELC_LIT_SITE.
import os
import lit.formats

site = {}
with open(os.environ["KERNELC_LIT_SITE"]) as f:
    exec(f.read(), site)

config.name = "kernelc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".kc", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(site["kernelc_build"], "test", "lit")
config.environment["PATH"] = os.pathsep.join([site["kernelc_bin"], os.path.join(site["kernelc_build"], "test", "tools"), site["llvm_bin"], os.environ["PATH"]])
config.environment["KERNELC_UNTUNED"] = "1" # whatever this account has tuned
config.substitutions.append(("%examples", os.path.join(site["kernelc_source"], "examples")))
config.substitutions.append(("%source", site["kernelc_source"]))
