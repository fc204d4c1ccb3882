// RUN: kernelc-opt --te-split-reduce="target=sm_80 size-div=4096,4096 size-max=8192,4096" %s | FileCheck %s
// RUN: kernelc-opt --te-split-reduce="target=sm_90a size-div=1,1 size-max=8192,4096" %s | FileCheck %s --check-prefix=ODD
// RUN: kernelc-opt --te-split-reduce="target=sm_90a" %s | FileCheck %s --check-prefix=UNKNOWN

// CHECK: #[[BELOW:.*]] = affine_set<(d0, d1, d2)[s0, s1] : (-d1 + d0 * {{[0-9]+}} + d2 >= 0)>

// Few columns for a large device: partial sums over chunks of rows, then their sum.
// CHECK-LABEL: te.kernel @columns
// CHECK: te.reduce sum ["i_part", "j", "i"] parallel 2
// CHECK: te.reduce sum ["j", "i_part"] parallel 1
// No chunk divides the extent, or nothing is known: nothing is split.
// ODD: te.reduce sum ["j", "i"] parallel 1
// UNKNOWN: te.reduce sum ["j", "i"] parallel 1
te.kernel @columns sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s1)>] {
^bb0(%x: tensor<?x?xf32>):
  %y = te.reduce sum ["j", "i"] parallel 1 extents affine_map<()[s0, s1] -> (s1, s0)> {
  ^bb0(%j: index, %i: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// A block per row fills the device.
// CHECK-LABEL: te.kernel @rows
// CHECK: te.reduce sum ["i", "j"] parallel 1
// CHECK-NOT: te.reduce
te.kernel @rows sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%x: tensor<?x?xf32>):
  %y = te.reduce sum ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}

// A condition goes to the parts.
// CHECK-LABEL: te.kernel @below
// CHECK: te.reduce sum ["i_part", "j", "i"] parallel 2 extents {{.*}} where #[[BELOW]] {
// CHECK: te.reduce sum ["j", "i_part"] parallel 1 extents {{[^w]*}} {
te.kernel @below sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s1)>] {
^bb0(%x: tensor<?x?xf32>):
  %y = te.reduce sum ["j", "i"] parallel 1 extents affine_map<()[s0, s1] -> (s1, s0)>
      where affine_set<(d0, d1)[s0, s1] : (d1 - d0 >= 0)> {
  ^bb0(%j: index, %i: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
