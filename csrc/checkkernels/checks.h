/* Declarations of the check functions, one per line of checks.inc. */
#ifndef NNF_CHECKS_H
#define NNF_CHECKS_H

#include "check.h"

#define NNF_CHECK(op) void nnf_check_##op(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel);
#include "checks.inc"
#undef NNF_CHECK

#endif
