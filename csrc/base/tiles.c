#include "nnf/tiles.h"

#if defined(__x86_64__)

static _Thread_local uint32_t shape; /* of this thread's tiles; 0: none */

#ifdef NNF_EMULATE_TILES
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef union tile {
    uint8_t u8[16][64];
    int8_t s8[16][64];
    uint16_t bf16[16][32];
    uint32_t u32[16][16];
    float f32[16][16];
} tile;

static _Thread_local tile tiles[8];

/* As a processor leaves them where the shapes change: with any data. */
static void configure(void) { memset(tiles, 0xA5, sizeof tiles); }
static void release(void) { configure(); }

static size_t depth_of(void) { return shape & 0xFF; }
static size_t rows_of(int at) { return at >= NNF_TILE_COLUMNS ? depth_of() / 4 : shape >> 8; }
static size_t bytes_of(int at) { return at >= NNF_TILE_ROWS && at < NNF_TILE_COLUMNS ? depth_of() : 64; }

static void expect(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "emulated tiles: %s\n", what);
    abort();
}

void nnf_tile_zero(int at)
{
    expect(shape != 0, "a tile is set to zero before this thread has shapes");
    memset(&tiles[at], 0, sizeof tiles[at]);
}

void nnf_tile_load(int at, const void *base, size_t stride)
{
    expect(shape != 0, "a tile is loaded before this thread has shapes");
    memset(&tiles[at], 0, sizeof tiles[at]);
    for (size_t i = 0; i < rows_of(at); i++)
        memcpy(tiles[at].u8[i], (const char *)base + i * stride, bytes_of(at));
}

void nnf_tile_store(int at, void *base, size_t stride)
{
    expect(shape != 0, "a tile is stored before this thread has shapes");
    for (size_t i = 0; i < rows_of(at); i++)
        memcpy((char *)base + i * stride, tiles[at].u8[i], bytes_of(at));
}

static void expect_product(int sums, int rows, int columns)
{
    expect(shape != 0, "tiles are multiplied before this thread has shapes");
    expect(sums < NNF_TILE_ROWS && rows >= NNF_TILE_ROWS && rows < NNF_TILE_COLUMNS && columns >= NNF_TILE_COLUMNS,
           "a product of tiles of other kinds");
}

/* Sums wrap around. */
static void add_products(int sums, int rows, int columns, int is_signed)
{
    expect_product(sums, rows, columns);
    for (size_t i = 0; i < rows_of(sums); i++) {
        for (size_t k = 0; k < depth_of(); k++) {
            const int x = is_signed ? tiles[rows].s8[i][k] : tiles[rows].u8[i][k];
            for (size_t j = 0; j < 16; j++)
                tiles[sums].u32[i][j] += (uint32_t)(x * tiles[columns].s8[k / 4][4 * j + k % 4]);
        }
    }
}

void nnf_tile_products_u8(int sums, int rows, int columns) { add_products(sums, rows, columns, 0); }
void nnf_tile_products_s8(int sums, int rows, int columns) { add_products(sums, rows, columns, 1); }

/* Denormal numbers count as zero, and become zero. */
static float without_denormals(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }

static float float_of(uint16_t bf16)
{
    const uint32_t bits = (uint32_t)bf16 << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return without_denormals(x);
}

/* Even and odd products are added apart, and both sums to what was there. */
void nnf_tile_products_bf16(int sums, int rows, int columns)
{
    expect_product(sums, rows, columns);
    for (size_t i = 0; i < rows_of(sums); i++) {
        float each[2][16] = {{0}};
        for (size_t k = 0; k < depth_of() / 2; k++) {
            for (size_t j = 0; j < 16; j++) {
                const float x = float_of(tiles[rows].bf16[i][k]), w = float_of(tiles[columns].bf16[k / 2][2 * j + k % 2]);
                each[k % 2][j] = without_denormals(fmaf(x, w, each[k % 2][j]));
            }
        }
        for (size_t j = 0; j < 16; j++) {
            const float both = without_denormals(each[0][j] + each[1][j]);
            tiles[sums].f32[i][j] = without_denormals(without_denormals(tiles[sums].f32[i][j]) + both);
        }
    }
}

#else

typedef struct tile_configuration {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} tile_configuration;

static void configure(void)
{
    const int rows = (int)(shape >> 8), depth = (int)(shape & 0xFF);
    tile_configuration c = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        c.bytes[i] = (uint16_t)(i >= NNF_TILE_ROWS && i < NNF_TILE_COLUMNS ? depth : 64);
        c.rows[i] = (uint8_t)(i >= NNF_TILE_COLUMNS ? depth / 4 : rows);
    }
    __asm__ volatile("ldtilecfg %0" : : "m"(c));
}

static void release(void) { __asm__ volatile("tilerelease"); }

#endif

void nnf_tiles_shape(int rows, int depth)
{
    const uint32_t wanted = (uint32_t)rows << 8 | (uint32_t)depth;
    if (shape != wanted) {
        shape = wanted;
        configure();
    }
}

void nnf_tiles_release(void)
{
    if (shape) {
        release();
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
