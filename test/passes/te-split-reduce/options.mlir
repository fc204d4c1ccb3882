// What is known of the sizes and the device decides; the defaults know nothing.
// RUN: kernelc-opt --te-split-reduce="target=sm_90a size-div=4096 size-max=65536" %s | FileCheck %s --check-prefix=LONG
// RUN: kernelc-opt --te-split-reduce="target=sm_90a size-div=96 size-max=65536" %s | FileCheck %s --check-prefix=DIVISOR
// RUN: kernelc-opt --te-split-reduce="target=sm_90a size-div=8 size-max=65536" %s | FileCheck %s --check-prefix=LAST
// RUN: kernelc-opt --te-split-reduce="target=sm_90a size-div=256 size-max=1024" %s | FileCheck %s --check-prefix=WHOLE
// RUN: kernelc-opt --te-split-reduce %s | FileCheck %s --check-prefix=WHOLE
// LONG: te.reduce sum ["j", "i_part"] parallel 1
// Neither does a chunk that 96 allows leave few enough parts, nor one of 8: the last part is shorter.
// DIVISOR: affine_map<()[s0] -> (s0 ceildiv 256, 128, 256)>
// LAST: affine_set<(d0, d1, d2)[s0] : (d0 * -256 + s0 - 1 - d2 >= 0)>
// Too little work for a second launch; nothing known.
// WHOLE-COUNT-1: te.reduce sum
// WHOLE-NOT: te.reduce
te.kernel @columns sizes ["M"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0, 128)>]
    outs ["y"] : ["f32"] [affine_map<()[s0] -> (128)>] {
^bb0(%x: tensor<?x128xf32>):
  %y = te.reduce sum ["j", "i"] parallel 1 extents affine_map<()[s0] -> (128, s0)> {
  ^bb0(%j: index, %i: index):
    %v = te.read %x[%i, %j] : tensor<?x128xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<128xf32>
  te.return %y : tensor<128xf32>
}
