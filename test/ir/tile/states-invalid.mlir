// RUN: kernelc-opt %s --split-input-file --verify-diagnostics
%x = arith.constant dense<0.0> : tensor<2x8xf32>
// expected-error @+1 {{[C3] has an identity and a region where its kind is custom, and only there}}
%s = tile.reduce custom %x dims [1] : tensor<2x8xf32> -> tensor<2x1xf32>

// -----

%x = arith.constant dense<0.0> : tensor<2x8xf32>
// expected-error @+1 {{[C3] has an identity and a region where its kind is custom, and only there}}
%s = tile.reduce sum %x dims [1] from [0.0 : f32] : tensor<2x8xf32> -> tensor<2x1xf32> {
^bb0(%a: f32, %b: f32):
  tile.state %a : f32
}

// -----

%x = arith.constant dense<0.0> : tensor<2x8xf32>
// expected-error @+1 {{[C3] must have an identity of the 1 components, and a region that takes them twice and ends in tile.state of them}}
%s = tile.reduce custom %x dims [1] from [0 : i32] : tensor<2x8xf32> -> tensor<2x1xf32> {
^bb0(%a: f32, %b: f32):
  tile.state %a : f32
}

// -----

%x = arith.constant dense<0.0> : tensor<2x8xf32>
%c = arith.constant dense<0.0> : tensor<2x1xf32>
// expected-error @+1 {{[C3] must have an identity of the 1 components, and a region that takes them twice and ends in tile.state of them}}
%y, %t = tile.scan custom %x from %c along 1 neutral [0.0 : f32] : tensor<2x8xf32> from tensor<2x1xf32> -> tensor<2x8xf32> total tensor<2x1xf32> {
^bb0(%a: f32):
  tile.state %a : f32
}
