/* AMX tiles: their shapes are a state of the thread.
 *
 * Setting the shapes takes about 170 cycles, so a kernel sets them only where they differ from what its thread has, and
 * the step gives the state back at the end of the thread's share (nnf_tiles_release, a few cycles). Between steps a
 * thread then has no tile state, and the system saves none when it switches threads. A signal handler meets the tiles
 * like any other register: the system saves and restores them. */
#ifndef NNF_TILES_H
#define NNF_TILES_H

#include <stdint.h>

/* Names of the eight tiles: a block of 2 x 2 sums, its two tiles of rows and two of columns. */
enum { NNF_TILE_SUM = 0, NNF_TILE_ROWS = 4, NNF_TILE_COLUMNS = 6 };

/* Gives this thread sums of `rows` x 16 int32, rows of `depth` bytes and columns of depth / 4 x 16 x 4 bytes. Tile data
 * is lost where the shape changes. rows 1..16; depth a multiple of 4, 4..64. */
void nnf_tiles_shape(int rows, int depth);

/* Back to no tiles; does nothing where this thread has none. */
void nnf_tiles_release(void);

#if defined(NNF_EMULATE_TILES) && defined(__x86_64__)
#include "nnf/tiles_emulated.h"
#endif

#endif
