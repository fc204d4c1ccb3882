// RUN: kernelc-opt %s --split-input-file --verify-diagnostics
// A ring that lies where another one does: the same elements along other indices.
%x = tile.ring : <[128, 1, 64, 1] x bf16, slots 4, contiguous 2>
%y = tile.ring in %x : !tile.ring<[128, 1, 64, 1] x bf16, slots 4, contiguous 2> as : <[128, 1, 1, 64] x bf16, slots 4, contiguous 3>

// -----

%x = tile.ring : <[128, 1, 64, 1] x bf16, slots 4, contiguous 2>
// expected-error @+1 {{has slots that are not those of '!tile.ring<[128, 1, 64, 1] x bf16, slots 4, contiguous 2>'}}
%y = tile.ring in %x : !tile.ring<[128, 1, 64, 1] x bf16, slots 4, contiguous 2> as : <[128, 1, 1, 32] x bf16, slots 4, contiguous 3>

// -----

%x = tile.ring : <[128, 1, 64, 1] x bf16, slots 4, contiguous 2>
// expected-error @+1 {{has slots that are not those of}}
%y = tile.ring in %x : !tile.ring<[128, 1, 64, 1] x bf16, slots 4, contiguous 2> as : <[128, 1, 1, 64] x bf16, slots 4, contiguous 0>

// -----

// Subscripts by data are what tensor copies alone take, a number for each piece of the box.
tile.func @f attributes {arg_names = ["x"], arg_shapes = [affine_map<()[s0] -> (s0, 32)>], arg_types = ["bf16"],
    extents = affine_map<()[s0] -> (s0, 32)>, grid_dims = array<i64: 0>, indices = ["i", "k"], size_div = array<i64: 8>,
    size_max = array<i64: -1>, sizes = ["N"], sources = array<i64: 0>, stages = 2 : i64, tiles = array<i64: 16, 32>, unit = "simt", warps = 1 : i64} {
^bb0(%x: memref<?x?xbf16>):
  %zero = arith.constant 0 : index
  %ring = tile.ring : <[16, 32] x bf16, slots 2, contiguous 1>
  // expected-error @+1 {{[C1] has 1 indices for 1 subscripts by data and no channel}}
  tile.ring_copy %ring at %zero from %x[%zero, %zero] map affine_map<(d0, d1, d2)[s0] -> (d2, d1)> indices [%zero] : !tile.ring<[16, 32] x bf16, slots 2, contiguous 1>, memref<?x?xbf16>
}
