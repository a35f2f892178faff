/* checkkernels [-k TEXT] [--isa LEVEL] [--seed N] [--bench] [--no-guard] [--list]: checks (and times) the kernels of the registry. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "nnf/cpu.h"

static const struct {
    const char *op;
    nnf_check_fn fn;
} checks[] = {
#define NNF_ROW(op) {#op, nnf_check_##op},
#define NNF_K(name, op, isa, tolerance, m, n, k) NNF_ONCE_##isa(NNF_ROW, op)
#include "families.inc"
#undef NNF_K
};

static nnf_check_fn find_check(const char *op)
{
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        if (strcmp(checks[i].op, op) == 0)
            return checks[i].fn;
    }
    return NULL;
}

static int level_of(const char *name)
{
    for (int isa = 0; nnf_isa_name(isa); isa++) {
        if (strcmp(nnf_isa_name(isa), name) == 0)
            return isa;
    }
    fprintf(stderr, "checkkernels: unknown level %s\n", name);
    exit(2);
}

static int usage(void)
{
    fputs("usage: checkkernels [-k TEXT] [--isa LEVEL] [--seed N] [--bench] [--no-guard] [--list]\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    const char *text = "";
    int isa = -1;
    bool list = false;
    nnf_check c = {.seed = 1, .minimum_ms = 20};
    for (int i = 1; i < argc; i++) {
        const bool more = i + 1 < argc;
        if (strcmp(argv[i], "--bench") == 0) {
            c.bench = true;
        } else if (strcmp(argv[i], "--no-guard") == 0) {
            c.no_guard = true;
        } else if (strcmp(argv[i], "--list") == 0) {
            list = true;
        } else if (strcmp(argv[i], "-k") == 0 && more) {
            text = argv[++i];
        } else if (strcmp(argv[i], "--seed") == 0 && more) {
            c.seed = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--isa") == 0 && more) {
            isa = level_of(argv[++i]);
        } else {
            return usage();
        }
    }
    isa = nnf_cpu_level(isa < 0 ? NNF_ISA_NEONBF16 : isa);
    size_t count, checked = 0, skipped = 0, broken = 0;
    const nnf_kernel *rows = nnf_kernels(&count);
    const int64_t start = nnf_check_now_ns();
    for (size_t i = 0; i < count; i++) {
        const nnf_kernel *twin = nnf_kernel_pick(rows[i].op, NNF_ISA_SCALAR);
        const nnf_check_fn check = find_check(rows[i].op);
        if (!strstr(rows[i].name, text))
            continue;
        if (list) {
            printf("%s %s\n", rows[i].name, nnf_isa_name(rows[i].isa));
            continue;
        }
        if (!twin || !check) {
            printf("FAIL %s: op %s has no %s\n", rows[i].name, rows[i].op, twin ? "check" : "scalar row");
            broken++;
            continue;
        }
        if (!nnf_isa_includes(isa, rows[i].isa)) {
            printf("skip %s: needs %s\n", rows[i].name, nnf_isa_name(rows[i].isa));
            skipped++;
            continue;
        }
        const size_t cases = c.cases, failures = c.failures;
        c.kernel = &rows[i];
        c.state = c.seed;
        check(&c, twin, &rows[i]);
        checked++;
        if (c.cases == cases) {
            printf("FAIL %s: its check made no case\n", rows[i].name);
            broken++;
        } else if (c.failures == failures) {
            printf("ok   %-64s %6zu cases\n", rows[i].name, c.cases - cases);
        }
        fflush(stdout);
    }
    if (list)
        return 0;
    printf("checkkernels: %zu kernels, %zu cases, %zu failed, %zu skipped, seed %llu, level %s, %.2f s\n", checked,
           c.cases, c.failures + broken, skipped, (unsigned long long)c.seed, nnf_isa_name(isa),
           (double)(nnf_check_now_ns() - start) / 1e9);
    return c.failures + broken ? 1 : 0;
}
