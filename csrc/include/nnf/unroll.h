/* How hot loops are compiled. INLINE: a function that is inlined always, so that constant arguments choose its body.
 * NNF_UNROLL before a loop of constant length (at most 16): unroll it whole, so that local arrays become registers. */
#ifndef NNF_UNROLL_H
#define NNF_UNROLL_H

#define INLINE static inline __attribute__((always_inline))

#if defined(__clang__)
#define NNF_UNROLL _Pragma("clang loop unroll(full)")
#else
#define NNF_UNROLL _Pragma("GCC unroll 16")
#endif

#endif
