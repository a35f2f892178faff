#!/usr/bin/env bash
# The extensions under sanitizers, as Python runs them: soak, then the tests of driver, HAL, rings, compiler, service
# and of steps that move elements, whose alignment is that of any type.
#
#     bash ci/sanitize_python.sh [address] [fuzz] [leaks] [library] [thread]
#
# address: address and undefined behaviour; fuzz: the same under `nnfast fuzz` (docs/fuzz.md); leaks: what its targets
# leave behind; thread: data races of the extensions (the interpreter is not instrumented, but its locks are seen). Each
# builds a copy of the tree in a folder of its own, which takes minutes on few cores.
# library: the C library alone, under address, undefined behaviour and leaks, then thread, as the programs of tests/ndk
# use it with a driver of this tree; then random sequences of its calls, where there is clang.
# EXECUTIONS: of the soak, 20000 where not given. FUZZ: arguments of nnfast fuzz, --minutes 1 where not given.
# CALLS: sequences of calls, 100000 where not given.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
NNFAST_SHARED=$(realpath -m "${NNFAST_SHARED:-../shared}")
export NNFAST_SHARED
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

build() { # name, flags: a copy of the tree with extensions made with these flags
    mkdir "$folder/$1"
    cd "$root"
    git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$folder/$1"
    cd "$folder/$1"
    export PYTHONPATH=$PWD
    if ! NNFAST_CFLAGS="$2 -g -fno-omit-frame-pointer" python setup.py build_ext --inplace -j"$(nproc)" \
        > build.log 2>&1; then
        tail -n 20 build.log
        exit 1
    fi
}

# Python's own flags define what overflows; here it is seen.
undefined="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-wrapv"
# The interpreter keeps what it has to its end: leaks are for the soak to find.
export ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=16:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1

checks() { # libraries to load first, tests to leave out
    local library
    # shellcheck disable=SC2086
    library=$(for name in $1; do gcc -print-file-name="$name"; done | paste -sd :)
    # Freed memory is kept for a while, to see who still uses it.
    LD_PRELOAD=$library python ci/soak.py --executions "${EXECUTIONS:-20000}" --growth 300
    # Reports go to the descriptor, past what pytest collects.
    LD_PRELOAD=$library python -m pytest -q -n "$(nproc)" -p no:cacheprovider --capture=sys tests/driver tests/hal \
        tests/fmq tests/compiler tests/service tests/native/test_copy_steps.py tests/native/test_*movement_steps.py \
        -k "not thousands_of $2"
}

library() { # flags, options of the sanitizer: programs made by a compiler of these flags find a library made with them
    cd "$root"
    mkdir -p "$folder/library"
    printf '#!/bin/sh\nexec gcc -g %s "$@"\n' "$1" > "$folder/library/cc"
    chmod +x "$folder/library/cc"
    "$folder/library/cc" -std=c11 -O1 -fno-omit-frame-pointer -fPIC -fvisibility=hidden -pthread -Icsrc -Icsrc/include \
        -Innfast/include -shared -Wl,--version-script=csrc/ndk/libneuralnetworks.map -Wl,-soname,libneuralnetworks.so \
        csrc/ndk/*.c csrc/fmq/*.c -ldl -o "$folder/library/libneuralnetworks.so"
    # The loader asks this variable before the place of the library that linkers leave in a program.
    env PYTHONPATH="$root" PATH="$folder/library:$PATH" LD_LIBRARY_PATH="$folder/library" "$2" python -m pytest -q \
        -p no:cacheprovider tests/ndk/test_programs.py tests/ndk/test_driver.py tests/ndk/test_examples.py
}

calls() { # sequences of calls of the C library, guided by coverage
    cd "$root"
    mkdir -p "$folder/calls"
    clang -std=c11 -O1 -g -pthread -Icsrc -Icsrc/include -Innfast/include -fsanitize=fuzzer,address,undefined \
        -fno-sanitize-recover=all csrc/ndk/*.c csrc/fmq/*.c csrc/stress/ndk_libfuzzer.c -ldl -o "$folder/calls/fuzz"
    printf '#!/bin/sh\ncd "%s" && exec env -u ASAN_OPTIONS "%s" -m nnfast "$@"\n' "$root" "$(command -v python)" \
        > "$folder/calls/driver"
    chmod +x "$folder/calls/driver"
    (cd "$folder/calls" && ASAN_OPTIONS=detect_leaks=1 NNFAST_SOCKET=$folder/calls/socket \
        NNFAST_DRIVER=$folder/calls/driver ./fuzz -max_len=600 -len_control=20 -runs="${CALLS:-100000}")
}

for kind in "${@:-address}"; do
    echo "== $kind"
    case $kind in
    address)
        build address "$undefined"
        checks "libasan.so libubsan.so" ""
        ;;
    fuzz)
        build fuzz "$undefined -O1"
        # libFuzzer sees no coverage beside the compiler's own library, which has functions of the same names.
        # shellcheck disable=SC2086
        LD_PRELOAD=$(python -c 'import atheris; print(atheris.path())')/asan_with_fuzzer.so \
            python -m nnfast fuzz --dump "$root/fuzz_found" ${FUZZ:---minutes 1}
        ;;
    leaks)
        build leaks "$undefined -O1"
        LD_PRELOAD=$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libubsan.so) \
            ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=1:leak_check_at_exit=0 python ci/fuzz_leaks.py
        ;;
    library)
        library "$undefined" ASAN_OPTIONS=detect_leaks=1
        library "-fsanitize=thread" TSAN_OPTIONS=exitcode=66
        if command -v clang > /dev/null; then
            calls
        fi
        ;;
    thread)
        build thread "-fsanitize=thread"
        # The memory of a thread's own variables is freed under a lock of the loader, which is not instrumented.
        echo race:_dl_deallocate_tls > "$folder/suppressions"
        export TSAN_OPTIONS=exitcode=66:suppressions=$folder/suppressions
        export OPENBLAS_NUM_THREADS=1 # numpy's threads are not instrumented either
        # A test that counts milliseconds has no chance here, a forked child may start no threads, and the barriers of
        # libgomp are not seen.
        checks libtsan.so "and not never_done_in_the_time_left and not fork and not children_beside and not openmp \
            and not test_team"
        ;;
    *)
        echo "no sanitizer $kind: address, fuzz, leaks, library, thread" >&2
        exit 1
        ;;
    esac
done
