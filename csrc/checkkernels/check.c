#define _GNU_SOURCE
#include "check.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PATTERN 0xA5

typedef struct nnf_block {
    struct nnf_block *next;
    unsigned char *map;
    size_t mapped, before; /* bytes of the map; watched bytes in front of the buffer */
} nnf_block;

void *nnf_check_alloc(nnf_check *c, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t body = (bytes + page) / page * page; /* at least one watched byte in front */
    nnf_block *block = malloc(sizeof *block);
    unsigned char *map = mmap(NULL, body + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!block || map == MAP_FAILED || mprotect(map + body, page, c->no_guard ? PROT_READ : PROT_NONE)) {
        perror("checkkernels: memory");
        exit(3);
    }
    memset(map, PATTERN, body);
    *block = (nnf_block){.next = c->blocks, .map = map, .mapped = body + page, .before = body - bytes};
    c->blocks = block;
    return map + block->before;
}

static void fail(nnf_check *c, const char *format, ...)
{
    va_list list;
    if (c->failures++ < 20) {
        printf("FAIL %s seed %llu: ", c->kernel->name, (unsigned long long)c->seed);
        va_start(list, format);
        vprintf(format, list);
        va_end(list);
        putchar('\n');
    }
}

void nnf_check_done(nnf_check *c, const char *what, ...)
{
    const size_t failures = c->failures;
    c->cases++;
    while (c->blocks) {
        nnf_block *block = c->blocks;
        for (size_t i = 0; i < block->before; i++) {
            if (block->map[i] != PATTERN) {
                fail(c, "byte %zu before a buffer was written", block->before - i);
                break;
            }
        }
        munmap(block->map, block->mapped);
        c->blocks = block->next;
        free(block);
    }
    static size_t reported;
    if (c->failures != failures || c->failures > reported) {
        va_list list;
        printf("     in case: ");
        va_start(list, what);
        vprintf(what, list);
        va_end(list);
        putchar('\n');
    }
    reported = c->failures;
}

void nnf_check_bytes(nnf_check *c, const void *expected, const void *actual, size_t bytes)
{
    const unsigned char *e = expected, *a = actual;
    for (size_t i = 0; i < bytes; i++) {
        if (e[i] != a[i]) {
            fail(c, "byte %zu is %d, twin %d", i, a[i], e[i]);
            return;
        }
    }
}

void nnf_check_s32(nnf_check *c, const int32_t *expected, const int32_t *actual, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (expected[i] != actual[i]) {
            fail(c, "element %zu is %d, twin %d", i, actual[i], expected[i]);
            return;
        }
    }
}

/* Distance in units in the last place. */
static double ulps(float a, float b)
{
    int32_t x, y;
    memcpy(&x, &a, 4);
    memcpy(&y, &b, 4);
    const int64_t p = x < 0 ? INT64_C(0) - (x & INT32_MAX) : x, q = y < 0 ? INT64_C(0) - (y & INT32_MAX) : y;
    return fabs((double)(p - q));
}

void nnf_check_flushed(float *expected, const float *actual, size_t count)
{
    const float above = FLT_MIN * 1.0001f;
    for (size_t i = 0; i < count; i++) {
        if ((expected[i] == 0 && actual[i] >= FLT_MIN && actual[i] < above) ||
            (expected[i] >= FLT_MIN && expected[i] < above && actual[i] == 0))
            expected[i] = actual[i];
    }
}

void nnf_check_f32(nnf_check *c, const float *expected, const float *actual, size_t count, const float *scale,
                   size_t terms)
{
    for (size_t i = 0; i < count; i++) {
        const float e = expected[i], a = actual[i];
        bool same;
        if (isnan(e) || isnan(a))
            same = isnan(e) && isnan(a);
        else if (c->kernel->tolerance == NNF_EXACT || isinf(e))
            same = e == a;
        else if (c->kernel->tolerance == NNF_APPROX)
            same = ulps(e, a) <= c->kernel->ulp;
        else
            same = fabs((double)e - a) <= FLT_EPSILON * ((double)terms / 4 + 2) * (double)scale[i] + FLT_MIN;
        if (!same) {
            fail(c, "element %zu is %.9g, twin %.9g", i, (double)a, (double)e);
            return;
        }
    }
}

uint32_t nnf_check_u32(nnf_check *c)
{
    c->state = c->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t x = c->state;
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    return (uint32_t)(x >> 32);
}

size_t nnf_check_below(nnf_check *c, size_t limit)
{
    return (size_t)(((uint64_t)nnf_check_u32(c) * limit) >> 32);
}

float nnf_check_float(nnf_check *c, float lo, float hi)
{
    return lo + (hi - lo) * ((float)(nnf_check_u32(c) >> 8) / 16777216.0f);
}

void nnf_check_fill_f32(nnf_check *c, float *x, size_t count, float lo, float hi)
{
    for (size_t i = 0; i < count; i++)
        x[i] = nnf_check_float(c, lo, hi);
}

void nnf_check_fill_bytes(nnf_check *c, void *x, size_t bytes)
{
    static const unsigned char corners[] = {0, 255, 127, 128};
    unsigned char *b = x;
    const size_t kind = nnf_check_below(c, 8);
    for (size_t i = 0; i < bytes; i++)
        b[i] = kind < 4 ? corners[kind] : (unsigned char)nnf_check_u32(c);
}

void nnf_check_multiplier(nnf_check *c, int32_t *multiplier, int32_t *exponent, int lo, int hi)
{
    *multiplier = (int32_t)((UINT32_C(1) << 30) + (nnf_check_u32(c) >> 2));
    *exponent = lo + (int)nnf_check_below(c, (size_t)(hi - lo + 1));
}

void nnf_check_sizes(size_t t, size_t sizes[9])
{
    const size_t wanted[] = {1, t - 1, t, t + 1, 2 * t - 1, 2 * t, 2 * t + 1, 5 * t + 3};
    size_t n = 0;
    for (size_t i = 0; i < 8; i++) {
        if (wanted[i] > 0 && (n == 0 || wanted[i] > sizes[n - 1]))
            sizes[n++] = wanted[i];
    }
    sizes[n] = 0;
}

int64_t nnf_check_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void nnf_check_report(nnf_check *c, const char *label, double ns, double work)
{
    printf("time %-52s %-28s %12.1f ns %9.2f /ns\n", c->kernel->name, label, ns, work / ns);
}
