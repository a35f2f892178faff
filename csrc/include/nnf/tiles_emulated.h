/* The tile instructions in C, with which kernels of the tile level are checked on machines that have AVX-512 but no tiles:
 * `python ci/build_checkkernels.py -- -DNNF_EMULATE_TILES`, or the package built with NNFAST_CFLAGS=-DNNF_EMULATE_TILES.
 * Slow. The use of tiles by a thread that has given them no shapes, at which a processor faults, ends the process. */
#ifndef NNF_TILES_EMULATED_H
#define NNF_TILES_EMULATED_H

#include <immintrin.h>
#include <stddef.h>

void nnf_tile_zero(int tile);
void nnf_tile_load(int tile, const void *base, size_t stride);
void nnf_tile_store(int tile, void *base, size_t stride);
void nnf_tile_products_u8(int sums, int rows, int columns);
void nnf_tile_products_s8(int sums, int rows, int columns);
void nnf_tile_products_bf16(int sums, int rows, int columns);

#undef _tile_zero
#undef _tile_loadd
#undef _tile_stream_loadd
#undef _tile_stored
#undef _tile_dpbusd
#undef _tile_dpbssd
#undef _tile_dpbf16ps
#define _tile_zero(tile) nnf_tile_zero(tile)
#define _tile_loadd(tile, base, stride) nnf_tile_load(tile, base, stride)
#define _tile_stream_loadd(tile, base, stride) nnf_tile_load(tile, base, stride)
#define _tile_stored(tile, base, stride) nnf_tile_store(tile, base, stride)
#define _tile_dpbusd(sums, rows, columns) nnf_tile_products_u8(sums, rows, columns)
#define _tile_dpbssd(sums, rows, columns) nnf_tile_products_s8(sums, rows, columns)
#define _tile_dpbf16ps(sums, rows, columns) nnf_tile_products_bf16(sums, rows, columns)

#endif
