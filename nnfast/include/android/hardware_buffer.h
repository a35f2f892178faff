/* Buffers that programs for Android make for the Neural Networks API: here memory that processes share (a memfd).
 *
 * AHARDWAREBUFFER_FORMAT_BLOB is memory of `width` bytes. The other formats are pictures, which have no meaning here:
 * they can be allocated and locked, as width x height x layers pixels of 4 bytes, but no operation reads them. */
#ifndef ANDROID_HARDWARE_BUFFER_H
#define ANDROID_HARDWARE_BUFFER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum AHardwareBuffer_Format {
    AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM = 1,
    AHARDWAREBUFFER_FORMAT_BLOB = 0x21,
};

enum AHardwareBuffer_UsageFlags {
    AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN = 0x3,
    AHARDWAREBUFFER_USAGE_CPU_READ_MASK = 0xF,
    AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN = 0x30,
    AHARDWAREBUFFER_USAGE_CPU_WRITE_MASK = 0xF0,
    AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER = 0x1000000,
};

typedef struct AHardwareBuffer_Desc {
    uint32_t width;
    uint32_t height;
    uint32_t layers;
    uint32_t format;
    uint64_t usage;
    uint32_t stride;
    uint32_t rfu0;
    uint64_t rfu1;
} AHardwareBuffer_Desc;

typedef struct ARect {
    int32_t left, top, right, bottom;
} ARect;

typedef struct AHardwareBuffer AHardwareBuffer;

/* Returns 0, or a negative errno. The buffer has one reference. */
int AHardwareBuffer_allocate(const AHardwareBuffer_Desc *desc, AHardwareBuffer **outBuffer);
void AHardwareBuffer_acquire(AHardwareBuffer *buffer);
void AHardwareBuffer_release(AHardwareBuffer *buffer);
void AHardwareBuffer_describe(const AHardwareBuffer *buffer, AHardwareBuffer_Desc *outDesc);

/* Writes the address of the first byte. fence: waited for and closed, unless it is negative; rect: not looked at.
 * Returns 0, or a negative errno. Locks of several threads do not exclude each other. */
int AHardwareBuffer_lock(AHardwareBuffer *buffer, uint64_t usage, int32_t fence, const ARect *rect,
                         void **outVirtualAddress);

/* Writes -1, no fence, to *fence unless it is NULL. */
int AHardwareBuffer_unlock(AHardwareBuffer *buffer, int32_t *fence);

#ifdef __cplusplus
}
#endif
#endif
