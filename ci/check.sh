#!/usr/bin/env bash
# All checks, or the named ones: lint objects kernels aarch64 site demo benchmarks vectors graphs fuzz poison soak service
# openmp tests. The same at the desk and in the gate.
# A line per step; at the end what each failed step printed last, and a total; exit 1 when any failed.
set -uo pipefail
cd "$(dirname "$0")/.."
export NNFAST_SHARED="${NNFAST_SHARED:-../shared}"
unset PYTHONDONTWRITEBYTECODE # else each of hundreds of processes compiles the package anew
failed=()
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

step() { # name, command...
    local name=$1 started=$SECONDS
    shift
    echo "== $name"
    if "$@" 2>&1 | tee "$logs/$name"; then
        echo "== $name ok ($((SECONDS - started)) s)"
        rm "$logs/$name"
    else
        echo "== $name FAILED ($((SECONDS - started)) s)"
        failed+=("$name")
    fi
}

lint() { # pyright too where somebody has it
    ruff check . && cython-lint nnfast/_native && mypy || return 1
    ! basedpyright --version > /dev/null 2>&1 || { basedpyright --level error && python ci/check_types.py; }
}
objects() { python ci/check_objects.py; }
kernels() { # those of the tile level once more with tiles in C, for machines without them
    local folder
    folder=$(mktemp -d) && NNFAST_WERROR=1 python ci/build_checkkernels.py -o "$folder/checkkernels" &&
        "$folder/checkkernels" | tail -n 3 &&
        NNFAST_WERROR=1 python ci/build_checkkernels.py --family conv2d -o "$folder/tiles" -- -DNNF_EMULATE_TILES &&
        "$folder/tiles" -k avx512amx | tail -n 1
    local status=$?
    rm -rf "$folder"
    return $status
}
aarch64() { bash ci/aarch64.sh quick; }
site() { # what its pages say is run by tests/docs
    if ! python -c 'import mkdocs, material, mkdocstrings' 2> /dev/null; then
        echo "mkdocs-material or mkdocstrings is not installed (nnfast[docs]): skipped"
        return 0
    fi
    local folder
    folder=$(mktemp -d) && bash ci/site.sh "$folder"
    local status=$?
    rm -rf "$folder"
    return $status
}
demo() {
    local folder
    folder=$(mktemp -d) && nnfast demo --output "$folder/demo.png"
    local status=$?
    rm -rf "$folder"
    return $status
}
benchmarks() {
    if ! python -c 'import asv' 2> /dev/null; then
        echo "asv is not installed: skipped (tests/benchmarks still runs each benchmark)"
        return 0
    fi
    (cd asv_bench && asv check -E existing) || return 1
    ! python -c 'import virtualenv' 2> /dev/null || python asv_bench/planted.py
}
openmp() { # what runs on threads, on those of OpenMP; bursts, services and commands are the same on either
    NNFAST_TEAM=openmp OMP_WAIT_POLICY=passive python -m pytest -q -n 2 tests/driver tests/engine || return 1
    if [ -d "$NNFAST_SHARED/vts" ]; then
        NNFAST_TEAM=openmp OMP_WAIT_POLICY=passive nnfast vts "$NNFAST_SHARED/vts" --kind general | tail -n 1
    fi
}
tests() { python -m pytest -q -n 2 --dist worksteal && python -m pytest -q tests/driver/test_waking.py; }
soak() { python ci/soak.py --executions 20000 --hostile && python ci/fork_children.py; }
poison() { python ci/poison.py; }
service() { # a short form of each; docs/service.md tells the full sizes. Latencies are not judged on a machine in use.
    python ci/service_soak.py --small --calm 1 --seconds 10 --clients 2 --worse inf --stall-ms inf | tail -n 3 &&
        python ci/service_fuzz.py --messages 20000 --sockets 2000 --packets 10000 &&
        python ci/service_kills.py --kills 20 --driver-kills 1 &&
        python ci/ndk_kills.py --kills 40
}
fuzz() { # docs/fuzz.md; of .tflite files few, as most are prepared and run: more of them by hand
    local folder
    folder=$(mktemp -d) && nnfast fuzz --target model --target messages --target cache --target packets --runs 25000 \
        --seed 1 --dump "$folder" &&
        nnfast fuzz --target tflite --runs 2000 --seed 1 --dump "$folder" &&
        nnfast fuzz --target session --runs 600 --seed 1 --dump "$folder"
    local status=$?
    [ $status -eq 0 ] && rm -rf "$folder"
    return $status
}
graphs() { # docs/randgraph.md: small ones at every level, large ones through every way
    local folder
    folder=$(mktemp -d) && nnfast randgraph --seed 0..199 --levels all --dump-failed "$folder" &&
        nnfast randgraph --seed 0..19 --ops large --via local,burst,service,cache --dump-failed "$folder" &&
        nnfast randgraph --seed 0..499 --ops single --dump-failed "$folder"
    local status=$?
    [ $status -eq 0 ] && rm -rf "$folder"
    return $status
}
vectors() {
    if [ ! -d "$NNFAST_SHARED/vts" ]; then
        echo "no conformance vectors at \$NNFAST_SHARED/vts: skipped"
        return 0
    fi
    # Every kind at the level of this machine; at the lower levels what depends on kernels.
    nnfast vts "$NNFAST_SHARED/vts" --kind general --kind dynamic --kind coupling --kind failure \
        --kind loop_timeout || return 1
    echo "definitions"
    nnfast vts "$NNFAST_SHARED/vts" --via definitions --kind general | tail -n 1 || return 1
    for hal in canonical 1.0 1.1 1.2 1.3; do
        echo "a sample of all kinds, HAL $hal"
        nnfast vts "$NNFAST_SHARED/vts" --hal "$hal" --sample 100 | tail -n 1 || return 1
    done
    for via in burst service cache; do
        echo "a sample of all kinds via $via"
        nnfast vts "$NNFAST_SHARED/vts" --via "$via" --sample 100 | tail -n 1 || return 1
    done
    for level in $(python -c 'from nnfast._native import kernels; print(*kernels.levels()[:-1])'); do
        echo "level $level"
        NNFAST_CPU=$level nnfast vts "$NNFAST_SHARED/vts" --kind general | tail -n 1 || return 1
    done
}

if [ $# -eq 0 ]; then
    set -- lint objects kernels aarch64 site demo benchmarks vectors graphs fuzz poison soak service openmp tests
fi
for name in "$@"; do
    step "$name" "$name"
done
for name in "${failed[@]}"; do # once more, where a log that is cut off still has it
    echo "== $name FAILED, its last lines:"
    tail -n 40 "$logs/$name"
done
echo "took $SECONDS s"
echo "checks: $(($# - ${#failed[@]})) passed, ${#failed[@]} failed${failed[0]:+: ${failed[*]}}"
[ "${#failed[@]}" -eq 0 ]
