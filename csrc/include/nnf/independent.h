/* Lets the compiler make the vectors of what follows: NNF_INDEPENDENT says of the loop behind it that no round of it
 * waits for another. Include first, once for a C file. */
#ifndef NNF_INDEPENDENT_H
#define NNF_INDEPENDENT_H

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#define NNF_INDEPENDENT _Pragma("GCC ivdep")
#else /* sanitizers keep clang from it, which says so */
#pragma clang diagnostic ignored "-Wpass-failed"
#define NNF_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#endif

#endif
