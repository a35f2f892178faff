/* checkkernels: every kernel variant against its scalar twin.
 *
 * A family has csrc/checkkernels/check_<family>.c with one function nnf_check_<op> per op of its list (checks.h
 * declares them from the list). The function makes inputs at tile-edge sizes, runs twin and variant on separate outputs that end at an
 * unreadable page, and compares. No size or tolerance may depend on the machine. */
#ifndef NNF_CHECK_H
#define NNF_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nnf/kernel.h"

typedef struct nnf_check {
    uint64_t seed;        /* of the run; printed on failure */
    bool bench;           /* also time the variant */
    bool no_guard;        /* leave the page behind a buffer readable */
    int minimum_ms;       /* how long a timing runs */
    const nnf_kernel *kernel;
    uint64_t state;       /* random generator, restarted for each kernel */
    size_t cases, failures;
    struct nnf_block *blocks;
} nnf_check;

typedef void (*nnf_check_fn)(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel);

/* The check of an op that is a call with c, twin and kernel in it. */
#define NNF_CHECK(op, call)                                                                                            \
    void nnf_check_##op(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)                                \
    {                                                                                                                  \
        (void)twin;                                                                                                    \
        call;                                                                                                          \
    }

/* Memory of exactly `bytes` that ends at an unreadable page (alignment follows from the size) and is filled with a
 * pattern; the bytes before it are watched. Freed by nnf_check_done. Never NULL. */
void *nnf_check_alloc(nnf_check *c, size_t bytes);

/* Ends one case: compares nothing, verifies that nobody wrote before a buffer, frees all buffers. `what` describes the
 * case as printf does. Call it once per case. */
void nnf_check_done(nnf_check *c, const char *what, ...) __attribute__((format(printf, 2, 3)));

/* Comparisons by the kernel's own tolerance; they print the first difference. Call before nnf_check_done. */
void nnf_check_bytes(nnf_check *c, const void *expected, const void *actual, size_t bytes);
void nnf_check_s32(nnf_check *c, const int32_t *expected, const int32_t *actual, size_t count);
/* Of results that are 0 where they would be subnormal: within 1e-4 above FLT_MIN, 0 in place of the twin's and what the twin
 * has for 0 are both right, and become what is expected. */
void nnf_check_flushed(float *expected, const float *actual, size_t count);
/* scale[i]: sum of |a*b| behind element i for REDUCE kernels, `terms` the number of terms; NULL and 0 otherwise. */
void nnf_check_f32(nnf_check *c, const float *expected, const float *actual, size_t count, const float *scale,
                   size_t terms);

uint32_t nnf_check_u32(nnf_check *c);                       /* uniform */
size_t nnf_check_below(nnf_check *c, size_t limit);         /* 0..limit-1 */
float nnf_check_float(nnf_check *c, float lo, float hi);
void nnf_check_fill_f32(nnf_check *c, float *x, size_t count, float lo, float hi);
void nnf_check_fill_bytes(nnf_check *c, void *x, size_t bytes); /* all low, all high, or random bytes */
/* A fixed-point multiplier of 2^30..2^31-1 and an exponent of lo..hi. */
void nnf_check_multiplier(nnf_check *c, int32_t *multiplier, int32_t *exponent, int lo, int hi);

/* Sizes around a tile edge t: 1, t-1, t, t+1, 2t-1, 2t, 2t+1, and a larger one; zero ends the list. */
void nnf_check_sizes(size_t t, size_t sizes[9]);

int64_t nnf_check_now_ns(void);
void nnf_check_report(nnf_check *c, const char *label, double ns, double work);

/* Times `call` and prints ns per call and work per ns; label like "n=1024". */
#define NNF_BENCH(c, label, work, call)                                                                                \
    do {                                                                                                               \
        if ((c)->bench) {                                                                                              \
            double best_ = 1e30;                                                                                       \
            const int64_t end_ = nnf_check_now_ns() + (int64_t)(c)->minimum_ms * 1000000;                              \
            size_t batch_ = 1;                                                                                         \
            while (nnf_check_now_ns() < end_) {                                                                        \
                const int64_t start_ = nnf_check_now_ns();                                                             \
                for (size_t i_ = 0; i_ < batch_; i_++) {                                                               \
                    call;                                                                                              \
                }                                                                                                      \
                const double each_ = (double)(nnf_check_now_ns() - start_) / (double)batch_;                           \
                best_ = each_ < best_ ? each_ : best_;                                                                 \
                if (each_ * (double)batch_ < 20000)                                                                    \
                    batch_ *= 2;                                                                                       \
            }                                                                                                          \
            nnf_check_report(c, label, best_, (double)(work));                                                         \
        }                                                                                                              \
    } while (0)

#endif
