#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What does not fit into CI's 50 minutes: run it once an issue, and see to what fails. A few hours of 16 cores; no GPU.
#
#   bash tools/nightly.sh [--jobs N] [--build DIR] [--seed N] [--out DIR] [STEP..]
#
# STEPs are names that the summary at the end has (all of them, if none is given). Random programs are drawn from the day's
# seed, which the summary names: with --seed it is the same night again. Each step leaves a log in --out.
set -uo pipefail
cd "$(dirname "$0")/.."
jobs="$(nproc)" build="build/${PRESET:-ci}" seed="$(date +%Y%m%d)" out="" steps=()
while [ $# -gt 0 ]; do
  case "$1" in
  --jobs) jobs="$2" && shift 2 ;;
  --build) build="$2" && shift 2 ;;
  --seed) seed="$2" && shift 2 ;;
  --out) out="$2" && shift 2 ;;
  -*) sed -n '3,8s/^# \{0,1\}//p' "$0" && exit 2 ;;
  *) steps+=("$1") && shift ;;
  esac
done
out="${out:-$build/nightly}"
mkdir -p "$out"
kernelc="$build/tools/kernelc"
python=/usr/bin/python3 # Debian's, which has NumPy and Hypothesis (tools/setup.sh)
oracle() { # device target count seed
  PYTHONPATH=python KERNELC_LIBRARY="$build/lib/libkernelc.so" "$python" test/oracle/test_oracle.py --device "$1" --target "$2" --count "$3" --seed "$4"
}

# The long ones first, so that none is left alone at the end.
names=(mutants inouts-{0..7} verify-each sizes fuzz-{0..3} oracle-cpu oracle-sm_80 oracle-sm_90a plant products products-run rewrites rewrites-{sm_80,sm_90a} plans sequences-{sm_80,sm_90a} opt-fuzz)
run_step() {
  local part="${1##*-}"
  case "$1" in
  mutants) "$python" test/conformance/mutants.py "$kernelc" --jobs "$(((jobs + 1) / 2))" --seconds 3600 ;;
  inouts-*) KERNELC_INOUTS_STEP=1 GTEST_TOTAL_SHARDS=8 GTEST_SHARD_INDEX="$part" "$build/test/emulator/inouts/EmulatorInoutTests" ;;
  verify-each) KERNELC_VERIFY_ALL=1 KERNELC_VERIFY_CU=1 "$build/test/driver/VerifyEachTest" ;;
  sizes) KERNELC_SIZES_ALL=1 "$build/test/conformance/ConformanceSizesTest" ;;
  fuzz-*) KERNELC_FUZZ_SEED="$((seed * 10000 + part * 500))" KERNELC_FUZZ_COUNT=500 "$build/test/emulator/fuzz/EmulatorFuzzTests" --gtest_filter='*Agree*' ;;
  oracle-cpu) oracle cpu sm_80 1000 "$seed" ;;
  oracle-sm_*) oracle emulator "$part" 60 "$seed" ;;
  plant) "$python" test/oracle/plant.py --build "$build" ;;
  products) "$python" test/conformance/random_products.py "$kernelc" --seed "$seed" --count 5000 ;;
  products-run) "$python" test/conformance/random_products.py "$kernelc" --seed "$seed" --count 300 --check ;;
  sequences-*) "$python" bench/sequences.py "$seed" --check "$kernelc" --tf32 --arch "${1#*-}" ;;
  rewrites) "$python" test/meaning/rewrites.py "$kernelc" --seed "$seed" --count 2000 ;;
  rewrites-*) "$python" test/meaning/rewrites.py "$kernelc" --seed "${seed}1" --count 200 --emulator "${1#rewrites-}" ;;
  plans) "$python" test/meaning/plans.py "$kernelc" --seed "$seed" --count 2000 ;;
  opt-fuzz) "$python" test/ir/fuzz_opt.py --bin "$build/tools" --seed "$seed" --count 20000 --keep "$out/opt-fuzz" ;;
  *) echo "no step '$1'; there are ${names[*]}" && return 2 ;;
  esac
}
timed_step() {
  local start=$SECONDS status=0
  run_step "$1" >"$out/$1.log" 2>&1 || status=$?
  printf '%s\t%s\t%s\t%s\n' "$1" "$status" "$((SECONDS - start))" "$(grep -v '^[[:space:]]*$' "$out/$1.log" | tail -1 | cut -c1-100)" >"$out/$1.result"
}

[ ${#steps[@]} -gt 0 ] || steps=("${names[@]}")
for step in "${steps[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
  rm -f "$out/$step.result"
  timed_step "$step" &
done
wait
failed=0
printf '%-14s %-7s %7s  %s\n' step result seconds "its last line"
for step in "${steps[@]}"; do
  IFS=$'\t' read -r name status seconds last <"$out/$step.result"
  [ "$status" -eq 0 ] || failed=$((failed + 1))
  printf '%-14s %-7s %7s  %s\n' "$name" "$([ "$status" -eq 0 ] && echo ok || echo "FAILS")" "$seconds" "$last"
done
echo "$failed of ${#steps[@]} steps fail; seed $seed, kernelc $(git rev-parse --short HEAD 2>/dev/null), logs in $out"
[ "$failed" -eq 0 ]
