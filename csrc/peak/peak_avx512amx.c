/* Products of whole tiles: four sums of 16 x 16, as many as a 2 x 2 block of rows and columns has. */
#include <immintrin.h>

#include "nnf/tiles.h"
#include "peak/peak.h"

/* All tiles full: 16 rows of 64 bytes. */
static inline void begin(void)
{
    nnf_tiles_shape(16, 64);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    _tile_zero(6);
    _tile_zero(7);
}

void nnf_peak_s8__avx512amx(size_t rounds)
{
    begin();
    for (size_t round = 0; round < rounds; round++) {
        _tile_dpbusd(0, 4, 6);
        _tile_dpbusd(1, 4, 7);
        _tile_dpbusd(2, 5, 6);
        _tile_dpbusd(3, 5, 7);
    }
    nnf_tiles_release();
}

void nnf_peak_bf16__avx512amx(size_t rounds)
{
    begin();
    for (size_t round = 0; round < rounds; round++) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    nnf_tiles_release();
}
