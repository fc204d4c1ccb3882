// RUN: not kernelc-opt %s -pass-pipeline='builtin.module(tile.func(tile-specialize-warps))' 2>&1 | FileCheck %s

// CHECK: error: 'tile.func' op has producer warps and no ring that they could fill
tile.func @f attributes {sizes = [], size_div = array<i64>, size_max = array<i64>, arg_names = [], arg_types = [],
    arg_shapes = [], sources = array<i64>, indices = [], extents = affine_map<() -> ()>, tiles = array<i64>,
    grid_dims = array<i64>, warps = 8 : i64, producer_warps = 4 : i64, target = "sm_90a"} {
}
