// RUN: kernelc-opt %s -o %t.before
// RUN: kernelc-opt --te-repack="target=sm_90a" %s -o %t.after && diff %t.before %t.after
// Units without tensor copies read rows as they are.
// RUN: kernelc-opt --te-repack="target=sm_80 work=0 reuse=0" %s -o %t.sm80 && diff %t.before %t.sm80

// Rows of 8192 bytes.
te.kernel @do_nothing sizes [] args ["a", "b"] : ["bf16", "bf16"] [affine_map<() -> (4096, 4096)>, affine_map<() -> (4096, 4096)>]
    outs ["c"] : ["f32"] [affine_map<() -> (4096, 4096)>] {
^bb0(%a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<() -> (4096, 4096, 4096)> {
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

// Over before the copies would pay.
te.kernel @small sizes [] args ["a", "b"] : ["bf16", "bf16"] [affine_map<() -> (63, 63)>, affine_map<() -> (63, 63)>]
    outs ["c"] : ["f32"] [affine_map<() -> (63, 63)>] {
^bb0(%a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<() -> (63, 63, 63)> {
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

// Few rows: an element copied is used four times.
te.kernel @skinny sizes [] args ["a", "b"] : ["bf16", "bf16"] [affine_map<() -> (4, 8191)>, affine_map<() -> (8192, 8191)>]
    outs ["c"] : ["f32"] [affine_map<() -> (4, 8192)>] {
^bb0(%a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<() -> (4, 8192, 8191)> {
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

// Nothing known of one size.
te.kernel @unbounded sizes ["M", "N"] args ["a", "b"] : ["bf16", "bf16"] [affine_map<()[s0, s1] -> (s1, 4095)>, affine_map<()[s0, s1] -> (4095, 4095)>]
    outs ["c"] : ["f32"] [affine_map<()[s0, s1] -> (s1, 4095)>] {
^bb0(%a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>):
  %c = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<()[s0, s1] -> (s1, 4095, 4095)> {
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
