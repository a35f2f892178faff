#!/usr/bin/env bash
# Sanitizer runs: kernel checks and mutated packets under address + undefined behaviour, the thread team and the ring
# under the thread sanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 ci/build_checkkernels.py -o "$folder/checkkernels" -- -fsanitize=address,undefined -fno-sanitize-recover=all
"$folder/checkkernels" | tail -n 2
team="csrc/base/meeting.c csrc/base/team.c csrc/base/fair.c csrc/base/gate.c csrc/base/program.c csrc/base/room.c csrc/base/slice.c csrc/stress/team_stress.c"
# shellcheck disable=SC2086
gcc -std=c11 -O1 -g -Icsrc/include -fsanitize=thread -pthread $team -o "$folder/stress_tsan"
"$folder/stress_tsan"
# shellcheck disable=SC2086
gcc -std=c11 -O1 -g -Icsrc/include -fsanitize=address,undefined -pthread $team -o "$folder/stress"
"$folder/stress"
# Children are forked while threads run: one would inherit the locks of the address sanitizer's allocator.
# shellcheck disable=SC2086
gcc -std=c11 -O1 -g -Icsrc/include -fsanitize=undefined -fno-sanitize-recover=all -pthread $team -o "$folder/stress_fork"
"$folder/stress_fork" --fork
# shellcheck disable=SC2086
gcc -std=c11 -O1 -g -Icsrc/include -fsanitize=undefined -fno-sanitize-recover=all -fopenmp -pthread $team \
    csrc/base/team_openmp.c -o "$folder/stress_openmp"
"$folder/stress_openmp" --openmp
"$folder/stress_openmp" --openmp --fork
gcc -std=c11 -O1 -g -Icsrc/include -fsanitize=address,undefined -fno-sanitize-recover=all csrc/fmq/packet.c \
    csrc/stress/packet_fuzz.c -o "$folder/packet_fuzz"
"$folder/packet_fuzz" 2500000 1 2 3 4
if command -v clang > /dev/null; then # the same, guided by coverage
    clang -std=c11 -O1 -g -Icsrc -Icsrc/include -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
        csrc/fmq/packet.c csrc/stress/packet_libfuzzer.c -o "$folder/packet_libfuzzer"
    cp -r nnfast/fuzz/corpus/packets "$folder"
    "$folder/packet_libfuzzer" -max_len=2305 -use_value_profile=1 -runs="${PACKETS:-2000000}" "$folder/packets"
    clang -std=c11 -O1 -g -Icsrc -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all csrc/ndk/msgpack.c \
        csrc/stress/msgpack_libfuzzer.c -o "$folder/msgpack_libfuzzer"
    "$folder/msgpack_libfuzzer" -max_len=400 -use_value_profile=1 -runs="${MESSAGES:-2000000}"
fi
# The thread sanitizer knows no fences: those of the ring order its event word only, which carries no data.
ring="csrc/fmq/ring.c csrc/stress/ring_stress.c"
# shellcheck disable=SC2086
gcc -std=c11 -O1 -g -Icsrc -Icsrc/include -fsanitize=thread -Wno-tsan -pthread $ring -o "$folder/ring_tsan"
"$folder/ring_tsan"
# shellcheck disable=SC2086
gcc -std=c11 -O1 -g -Icsrc -Icsrc/include -fsanitize=address,undefined -fno-sanitize-recover=all -pthread $ring \
    -o "$folder/ring"
"$folder/ring" --fork
