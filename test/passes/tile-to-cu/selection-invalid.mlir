// RUN: kernelc-opt %s --split-input-file --verify-diagnostics
// What a search asks is one i1 of one number.
%end = arith.constant 4 : index
// expected-error @below {{has a condition over one number, which ends in tile.holds}}
%n = tile.count_where below %end {
  %on = arith.constant dense<true> : tensor<1xi1>
  tile.holds %on : tensor<1xi1>
}
// -----
%end = arith.constant 4 : index
// expected-error @below {{has a condition of one i1, not 'tensor<2xi1>'}}
%n = tile.find_where from %end below %end {
^bb0(%t: index):
  %on = arith.constant dense<true> : tensor<2xi1>
  tile.holds %on : tensor<2xi1>
}
// -----
// What an extreme is of is one index for each number.
%end = arith.constant 4 : index
// expected-error @below {{has a region over one number, which ends in tile.gives}}
%n = tile.extreme max of %end below %end {
  tile.gives %end
}
// -----
%end = arith.constant 4 : index
// expected-error @below {{takes the largest or the smallest: max or min}}
%n = tile.extreme sum of %end below %end {
^bb0(%t: index):
  tile.gives %t
}
