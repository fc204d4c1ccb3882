// One number from 2^22 fills one block; partial sums over chunks fill the device.
// RUN: kernelc-opt --te-split-reduce="target=sm_90a" %s | FileCheck %s
te.kernel @total sizes [] args ["x"] : ["f32"] [affine_map<() -> (4194304)>]
    outs ["y"] : ["f32"] [affine_map<() -> ()>] {
^bb0(%x: tensor<4194304xf32>):
  %y = te.reduce sum ["i"] parallel 0 extents affine_map<() -> (4194304)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<4194304xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<f32>
  te.return %y : tensor<f32>
}
// CHECK: #[[CHUNKS:.*]] = affine_map<() -> (2048, 2048)>
// CHECK: #[[AT:.*]] = affine_map<(d0, d1) -> (d0 * 2048 + d1)>
// CHECK: #[[PARTS:.*]] = affine_map<() -> (2048)>
// CHECK-LABEL: te.kernel @total
// CHECK: %[[P:.*]] = te.reduce sum ["i_part", "i"] parallel 1 extents #[[CHUNKS]]
// CHECK: ^bb0(%[[Q:.*]]: index, %[[K:.*]]: index):
// CHECK: te.read %{{.*}}[%[[Q]], %[[K]]] map #[[AT]]
// CHECK: } {name = "y_part"}
// CHECK: te.reduce sum ["i_part"] parallel 0 extents #[[PARTS]]
// CHECK: te.read %[[P]]
// CHECK: } {name = "y"}
