/* SHA-256 [FIPS 180-4]: what names a file must not be the same for two of them. */
#ifndef DELEGATE_SHA256_H
#define DELEGATE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { DLG_SHA256_BYTES = 32, DLG_SHA256_BLOCK = 64 };

struct dlg_sha256 {
    uint32_t state[8];
    uint64_t size; /* bytes so far */
    uint8_t block[DLG_SHA256_BLOCK];
};

void dlg_sha256_begin(struct dlg_sha256 *hash);
void dlg_sha256_add(struct dlg_sha256 *hash, const void *data, size_t size);
void dlg_sha256_end(struct dlg_sha256 *hash, uint8_t digest[DLG_SHA256_BYTES]);

#endif
