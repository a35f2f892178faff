/* Weights of Winograd convolution. Runs once per model. */
#include "conv2d_winograd.h"

#include <string.h>

/* Rows of G, of the points 0, a, -a, b, -b and infinity. */
static const double g[NNF_WINOGRAD_IN][3] = {
    {1, 0, 0},
    {-2.0 / 3, -0.47140452079103168, -1.0 / 3},
    {-2.0 / 3, 0.47140452079103168, -1.0 / 3},
    {1.0 / 6, 0.23570226039551584, 1.0 / 3},
    {1.0 / 6, -0.23570226039551584, 1.0 / 3},
    {0, 0, 1},
};

/* A row of G times three taps. */
static double row_of(const double row[3], double first, double second, double third)
{
    return row[0] * first + row[1] * second + row[2] * third;
}

static void pack_line(const float *w, size_t channels, size_t panel, float *to)
{
    for (size_t j = 0; j < NNF_WINOGRAD_IN; j++)
        to[j * panel] = (float)row_of(g[j], w[0], w[channels], w[2 * channels]);
}

static void pack_patch(const float *w, size_t channels, size_t panel, float *to)
{
    double down[NNF_WINOGRAD_IN][3];
    for (size_t i = 0; i < NNF_WINOGRAD_IN; i++) {
        for (size_t j = 0; j < 3; j++)
            down[i][j] = row_of(g[i], w[j * channels], w[(3 + j) * channels], w[(6 + j) * channels]);
    }
    for (size_t i = 0; i < NNF_WINOGRAD_IN; i++) {
        for (size_t j = 0; j < NNF_WINOGRAD_IN; j++)
            to[(i * NNF_WINOGRAD_IN + j) * panel] = (float)row_of(g[j], down[i][0], down[i][1], down[i][2]);
    }
}

void nnf_pack_conv2d_winograd_f32(int is_line, size_t units, size_t channels, size_t n, size_t panel,
                                  const float *filter, float *packed)
{
    const size_t panels = (units + n - 1) / n, products = nnf_winograd_products(is_line);
    const size_t taps = is_line ? NNF_WINOGRAD_TAPS : NNF_WINOGRAD_TAPS * NNF_WINOGRAD_TAPS;
    memset(packed, 0, panels * products * panel * sizeof *packed);
    for (size_t first = 0; first < units; first += n, packed += products * panel) {
        const size_t here = units - first < n ? units - first : n;
        /* Units innermost, which lie side by side: a line of the cache is written once. */
        for (size_t c = 0; c < channels; c++) {
            const float *w = filter + first * taps * channels + c;
            float *to = packed + n + c * n;
            for (size_t unit = 0; unit < here; unit++, w += taps * channels, to++) {
                if (is_line)
                    pack_line(w, channels, panel, to);
                else
                    pack_patch(w, channels, panel, to);
            }
        }
    }
}
