// RUN: kernelc-opt --cu-join -split-input-file %s | FileCheck %s

// Blocks that stay for several tiles: each part has a block a tile where there are as many, else its share, and at least one.
// CHECK-LABEL: cu.kernel @kc_k_a_b
// CHECK-SAME: persistent = true
// CHECK-SAME: records = 2 : i64
// CHECK: %[[BLOCK:.*]] = cu.block_id
// CHECK: %[[BLOCKS:.*]] = cu.grid_size
// CHECK: %[[EACH:.*]] = arith.cmpi eq, %[[BLOCKS]]
// CHECK: %[[SHARE:.*]] = arith.muli %[[BLOCKS]], %c256
// CHECK: %[[PART:.*]] = arith.divsi %[[SHARE]], %c1024
// CHECK: %[[LEAST:.*]] = arith.minsi %[[PART]], %c40
// CHECK: %[[CHOSEN:.*]] = arith.select %[[EACH]], %c40, %[[LEAST]]
// CHECK: %[[MOST:.*]] = arith.subi %[[BLOCKS]], %c1
// CHECK: %[[FEW:.*]] = arith.minsi %[[CHOSEN]], %[[MOST]]
// CHECK: %[[OTHERS:.*]] = arith.maxsi %[[FEW]], %c1
// CHECK: %[[OWN:.*]] = arith.subi %[[BLOCKS]], %[[OTHERS]]
// CHECK: arith.cmpi slt, %[[BLOCK]], %[[OWN]]
// CHECK: scf.if
// CHECK: scf.for %{{.*}} = %[[BLOCK]] to %c120{{[_0-9]*}} step %[[OWN]]
// CHECK: } else {
// CHECK: %[[REST:.*]] = arith.subi %[[BLOCK]], %[[OWN]]
// CHECK: scf.for %{{.*}} = %[[REST]] to %c40{{[_0-9]*}} step %[[OTHERS]]
cu.kernel @kc_k_a attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (120)>}],
    grid = affine_map<() -> (120)>, threads = 32 : i64, shared_bytes = 0 : i64, persistent = true} {
^bb0(%x: memref<?xf32, 1>):
  %v = arith.constant 1.0 : f32
  %c120 = arith.constant 120 : index
  %b = cu.block_id
  %n = cu.grid_size
  scf.for %i = %b to %c120 step %n {
    memref.store %v, %x[%i] : memref<?xf32, 1>
  }
}
cu.kernel @kc_k_b attributes {sizes = [], arg_sources = [{source = 1 : i64, shape = affine_map<() -> (40)>}],
    grid = affine_map<() -> (40)>, threads = 32 : i64, shared_bytes = 0 : i64, persistent = true, beside = 256 : i64} {
^bb0(%y: memref<?xf32, 1>):
  %v = arith.constant 1.0 : f32
  %c40 = arith.constant 40 : index
  %b = cu.block_id
  %n = cu.grid_size
  scf.for %i = %b to %c40 step %n {
    memref.store %v, %y[%i] : memref<?xf32, 1>
  }
}

// -----

// Three of them, whose blocks are clusters; an argument that two of them have is one; a fourth stands alone behind them.
// CHECK-LABEL: cu.kernel @kc_k_a_b_c
// CHECK-SAME: arg_sources = [{shape = #{{.*}}, source = 0 : i64}, {shape = #{{.*}}, source = 1 : i64}, {shape = #{{.*}}, source = 2 : i64}]
// CHECK-SAME: cluster = 2 : i64
// CHECK-SAME: records = 3 : i64
// CHECK: ^bb0(%[[X:.*]]: memref<?xf32, 1>, %{{.*}}: memref<?xf32, 1>, %[[Z:.*]]: memref<?xf32, 1>):
// CHECK: %[[BLOCK:.*]] = cu.block_id
// CHECK: arith.muli %c4{{.*}}, %c2
// CHECK: scf.if
// CHECK: memref.load %[[X]]
// CHECK: } else {
// CHECK: scf.if
// CHECK: memref.load %[[X]]
// CHECK: } else {
// CHECK: memref.store %{{.*}}, %[[Z]]
// CHECK: cu.kernel @kc_k_d
cu.kernel @kc_k_a attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (8)>}, {source = 1 : i64, shape = affine_map<() -> (8)>}],
    grid = affine_map<() -> (4)>, threads = 32 : i64, shared_bytes = 0 : i64, cluster = 2 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %b = cu.block_id
  %v = memref.load %x[%b] : memref<?xf32, 1>
  memref.store %v, %y[%b] : memref<?xf32, 1>
}
cu.kernel @kc_k_b attributes {sizes = [], arg_sources = [{source = 0 : i64, shape = affine_map<() -> (8)>}, {source = 2 : i64, shape = affine_map<() -> (8)>}],
    grid = affine_map<() -> (4)>, threads = 32 : i64, shared_bytes = 0 : i64, cluster = 2 : i64, beside = 1 : i64} {
^bb0(%x: memref<?xf32, 1>, %y: memref<?xf32, 1>):
  %b = cu.block_id
  %v = memref.load %x[%b] : memref<?xf32, 1>
  memref.store %v, %y[%b] : memref<?xf32, 1>
}
cu.kernel @kc_k_c attributes {sizes = [], arg_sources = [{source = 2 : i64, shape = affine_map<() -> (8)>}],
    grid = affine_map<() -> (4)>, threads = 32 : i64, shared_bytes = 0 : i64, cluster = 2 : i64, beside = 1 : i64} {
^bb0(%z: memref<?xf32, 1>):
  %v = arith.constant 1.0 : f32
  %b = cu.block_id
  memref.store %v, %z[%b] : memref<?xf32, 1>
}
cu.kernel @kc_k_d attributes {sizes = [], arg_sources = [{source = 2 : i64, shape = affine_map<() -> (8)>}],
    grid = affine_map<() -> (4)>, threads = 32 : i64, shared_bytes = 0 : i64} {
^bb0(%z: memref<?xf32, 1>):
  %v = arith.constant 1.0 : f32
  %b = cu.block_id
  memref.store %v, %z[%b] : memref<?xf32, 1>
}
