#include "nnf/tiles.h"

#if defined(__x86_64__)

static _Thread_local uint32_t shape; /* of this thread's tiles; 0: none */

typedef struct tile_configuration {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} tile_configuration;

void nnf_tiles_shape(int rows, int depth)
{
    const uint32_t wanted = (uint32_t)rows << 8 | (uint32_t)depth;
    if (shape == wanted)
        return;
    tile_configuration c = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        c.bytes[i] = (uint16_t)(i >= NNF_TILE_ROWS && i < NNF_TILE_COLUMNS ? depth : 64);
        c.rows[i] = (uint8_t)(i >= NNF_TILE_COLUMNS ? depth / 4 : rows);
    }
    __asm__ volatile("ldtilecfg %0" : : "m"(c));
    shape = wanted;
}

void nnf_tiles_release(void)
{
    if (shape) {
        __asm__ volatile("tilerelease");
        shape = 0;
    }
}

#else

void nnf_tiles_shape(int rows, int depth)
{
    (void)rows;
    (void)depth;
}

void nnf_tiles_release(void)
{
}

#endif
