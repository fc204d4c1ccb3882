// What counts as worth a copy: the target's numbers, or those given.
// RUN: kernelc-opt --te-repack="target=sm_90a" %s 2>/dev/null | FileCheck %s --check-prefix=NONE
// RUN: kernelc-opt --te-repack="target=sm_90a work=1000 reuse=16" %s 2>/dev/null | FileCheck %s --check-prefix=BOTH
// RUN: kernelc-opt --te-repack="target=sm_90a work=1000 reuse=17" %s 2>/dev/null | FileCheck %s --check-prefix=NONE
// RUN: kernelc-opt --te-repack="target=sm_90a work=33793 reuse=16" %s 2>/dev/null | FileCheck %s --check-prefix=NONE
// NONE-NOT: te.compute
// BOTH-COUNT-2: te.compute
te.kernel @k sizes [] args ["a", "b"] : ["bf16", "bf16"] [affine_map<() -> (32, 33)>, affine_map<() -> (32, 33)>]
    outs ["c"] : ["f32"] [affine_map<() -> (32, 32)>] {
^bb0(%a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<() -> (32, 32, 33)> {
  ^bb0(%i: index, %j: index, %k: index):
    %u = te.read %a[%i, %k] : tensor<?x?xbf16>
    %v = te.read %b[%j, %k] : tensor<?x?xbf16>
    %x = arith.extf %u : bf16 to f32
    %y = arith.extf %v : bf16 to f32
    %w = arith.mulf %x, %y : f32
    te.yield %w : f32
  } {name = "c"} : tensor<?x?xf32>
  te.return %c : tensor<?x?xf32>
}
