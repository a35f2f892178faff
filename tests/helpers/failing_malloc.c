/* The C library's allocator with a failure on demand: preloaded, it makes the n-th allocation of the process fail. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static long left = -1; /* allocations until the one that fails; below zero: none does */
static long live;      /* blocks that are allocated */

/* The n-th allocation from now on fails, the first is 1; 0: none. Whether the one asked for before was not reached. */
int nnf_fail_allocation(long n) { return __atomic_exchange_n(&left, n - 1, __ATOMIC_SEQ_CST) >= 0; }

long nnf_live_blocks(void) { return __atomic_load_n(&live, __ATOMIC_SEQ_CST); }

static int fails(void)
{
    if (__atomic_load_n(&left, __ATOMIC_RELAXED) < 0 || __atomic_fetch_sub(&left, 1, __ATOMIC_SEQ_CST) != 0)
        return 0;
    errno = ENOMEM;
    return 1;
}

static void *made(void *block)
{
    if (block)
        __atomic_fetch_add(&live, 1, __ATOMIC_RELAXED);
    return block;
}

void *malloc(size_t n) { return fails() ? NULL : made(__libc_malloc(n)); }
void *calloc(size_t n, size_t m) { return fails() ? NULL : made(__libc_calloc(n, m)); }
void *memalign(size_t a, size_t n) { return fails() ? NULL : made(__libc_memalign(a, n)); }
void *aligned_alloc(size_t a, size_t n) { return memalign(a, n); }

int posix_memalign(void **block, size_t a, size_t n)
{
    void *found = memalign(a, n);
    if (found)
        *block = found;
    return found ? 0 : ENOMEM;
}

void free(void *block)
{
    if (block)
        __atomic_fetch_sub(&live, 1, __ATOMIC_RELAXED);
    __libc_free(block);
}

void *realloc(void *block, size_t n)
{
    if (fails())
        return NULL;
    if (!block)
        return made(__libc_malloc(n));
    if (!n) {
        free(block);
        return NULL;
    }
    return __libc_realloc(block, n);
}
