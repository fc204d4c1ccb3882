// RUN: kernelc-opt %s --canonicalize --allow-unregistered-dialect | FileCheck %s

// The descriptor of an operand that begins where its slot does is the slot's.

// CHECK: %[[MADE:.*]]:2 = "make"
// CHECK-NEXT: %[[FURTHER:.*]] = cu.desc_advance %[[MADE]]#0 by %[[MADE]]#1
// CHECK-NEXT: "use"(%[[MADE]]#0, %[[FURTHER]])
%d, %by = "make"() : () -> (ui64, index)
%zero = arith.constant 0 : index
%same = cu.desc_advance %d by %zero
%further = cu.desc_advance %d by %by
"use"(%same, %further) : (ui64, ui64) -> ()
