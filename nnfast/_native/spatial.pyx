"""Steps over the pixels of an image: pooling, RESIZE_BILINEAR, regions of interest, heatmaps."""

include "spatial/pooling.pxi"
include "spatial/tfl_pool.pxi"
include "spatial/resize.pxi"
include "spatial/roi.pxi"
include "spatial/heatmap.pxi"
