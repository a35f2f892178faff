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

void nnf_pack_conv2d_winograd_f32(size_t units, size_t channels, size_t n, size_t panel, const float *filter,
                                  float *packed)
{
    const size_t panels = (units + n - 1) / n;
    memset(packed, 0, panels * NNF_WINOGRAD_PRODUCTS * panel * sizeof *packed);
    for (size_t unit = 0; unit < units; unit++) {
        float *to = packed + unit / n * NNF_WINOGRAD_PRODUCTS * panel + n + unit % n;
        for (size_t c = 0; c < channels; c++, to += n) {
            double down[NNF_WINOGRAD_IN][3];
            for (size_t i = 0; i < NNF_WINOGRAD_IN; i++) {
                for (size_t j = 0; j < 3; j++) {
                    const float *w = filter + (unit * 9 + j) * channels + c;
                    down[i][j] = g[i][0] * w[0] + g[i][1] * w[3 * channels] + g[i][2] * w[6 * channels];
                }
            }
            for (size_t i = 0; i < NNF_WINOGRAD_IN; i++) {
                for (size_t j = 0; j < NNF_WINOGRAD_IN; j++) {
                    const double u = g[j][0] * down[i][0] + g[j][1] * down[i][1] + g[j][2] * down[i][2];
                    to[(i * NNF_WINOGRAD_IN + j) * panel] = (float)u;
                }
            }
        }
    }
}
