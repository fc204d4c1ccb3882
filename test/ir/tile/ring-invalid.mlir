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
