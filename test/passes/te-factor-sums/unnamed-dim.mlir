// A read may be at a dim that none of its subscripts names: the sum of the other factor over it leaves nothing to be read at.
// RUN: kernelc-opt --te-factor-sums %s | FileCheck %s
// CHECK: te.reduce sum ["o", "c", "r", "s"] parallel 3
// CHECK: te.reduce sum ["n", "o", "i", "c", "r"] parallel 3
// CHECK: %[[ANY:.*]] = arith.constant 0 : index
// CHECK: te.read %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[ANY]]] map
#x = affine_map<() -> (16, 16, 512)>
#f = affine_map<() -> (128, 16, 3, 3)>
#y = affine_map<() -> (16, 128, 510)>
#all = affine_map<() -> (16, 128, 510, 16, 3, 3)>
#window = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2 + d3)>
module {
  te.kernel @windows sizes [] args ["x", "f"] : ["f32", "f32"] [#x, #f] outs ["y"] : ["f32"] [#y] {
  ^bb0(%x: tensor<16x16x512xf32>, %f: tensor<128x16x3x3xf32>):
    %y = te.reduce sum ["n", "o", "i", "c", "r", "s"] parallel 3 extents #all {
    ^bb0(%n: index, %o: index, %i: index, %c: index, %r: index, %s: index):
      %0 = te.read %x[%n, %c, %i, %r, %s] map #window : tensor<16x16x512xf32>
      %1 = te.read %f[%o, %c, %r, %s] : tensor<128x16x3x3xf32>
      %2 = arith.mulf %0, %1 : f32
      te.yield %2 : f32
    } {name = "y"} : tensor<16x128x510xf32>
    te.return %y : tensor<16x128x510xf32>
  }
}
