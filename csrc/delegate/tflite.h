/* What a delegate sees of TFLite: the structures of its C interface, declared from their documented layout.
 *
 * All versions since 2.5 agree on these; what came later stands at the end of a structure and is used only where
 * noted. layout.c holds what a runtime gives against them before anything is read in earnest. */
#ifndef DELEGATE_TFLITE_H
#define DELEGATE_TFLITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tfl_status { TFL_OK = 0, TFL_ERROR = 1, TFL_DELEGATE_ERROR = 2 };

enum tfl_type {
    TFL_NO_TYPE = 0, TFL_FLOAT32 = 1, TFL_INT32 = 2, TFL_UINT8 = 3, TFL_INT64 = 4, TFL_STRING = 5, TFL_BOOL = 6,
    TFL_INT16 = 7, TFL_COMPLEX64 = 8, TFL_INT8 = 9, TFL_FLOAT16 = 10, TFL_FLOAT64 = 11, TFL_COMPLEX128 = 12,
    TFL_UINT64 = 13, TFL_RESOURCE = 14, TFL_VARIANT = 15, TFL_UINT32 = 16, TFL_UINT16 = 17, TFL_INT4 = 18,
    TFL_BFLOAT16 = 19,
};

/* Where the bytes of a tensor lie. */
enum tfl_allocation {
    TFL_NOWHERE = 0, TFL_CONSTANT = 1, TFL_ARENA = 2, TFL_PERSISTENT = 3, TFL_DYNAMIC = 4, TFL_PREPARED = 5,
    TFL_MOST_ALLOCATIONS = 16,
};

enum tfl_quantization_type { TFL_UNQUANTIZED = 0, TFL_AFFINE = 1, TFL_BLOCKWISE = 2 };

enum { TFL_OMITTED = -1, TFL_CUSTOM_OPERATOR = 32, TFL_DELEGATE_OPERATOR = 51, TFL_ALLOWS_DYNAMIC_TENSORS = 1 };

struct tfl_ints {
    int size;
    int data[];
};

struct tfl_floats {
    int size;
    float data[];
};

struct tfl_affine {
    struct tfl_floats *scale;
    struct tfl_ints *zero_point;
    int32_t dimension;
};

struct tfl_blockwise {
    int32_t scales, zero_points; /* numbers of tensors */
    int32_t block_size, dimension;
};

struct tfl_tensor {
    int type;
    void *data;
    struct tfl_ints *dims;
    struct {
        float scale;
        int32_t zero_point;
    } params;
    int allocation;
    size_t bytes;
    const void *file;
    const char *name;
    struct tfl_delegate *delegate;
    int buffer_handle;
    bool data_is_stale, is_variable;
    struct {
        int type;
        void *params;
    } quantization;
    void *sparsity;
    const struct tfl_ints *signature; /* -1: unknown; null or empty where all dimensions are known */
};

struct tfl_node {
    struct tfl_ints *inputs, *outputs, *intermediates, *temporaries;
    void *user_data;
    void *options; /* of a builtin operator: a structure of its own (options.inc) */
    const void *custom_options;
    int custom_options_size;
    struct tfl_delegate *delegate;
    bool might_have_side_effect;
};

struct tfl_context;

struct tfl_registration {
    void *(*init)(struct tfl_context *context, const char *data, size_t size);
    void (*free)(struct tfl_context *context, void *user_data);
    int (*prepare)(struct tfl_context *context, struct tfl_node *node);
    int (*invoke)(struct tfl_context *context, struct tfl_node *node);
    const char *(*profile)(const struct tfl_context *context, const struct tfl_node *node);
    int32_t code;
    const char *custom_name;
    int version;
    /* Of later versions: null in what is given to a runtime, never read of what comes from one. */
    void *external;
    void *(*async_kernel)(struct tfl_context *context, struct tfl_node *node);
    uint64_t in_place;
};

/* What a kernel gets as `data` of init. */
struct tfl_part {
    struct tfl_delegate *delegate;
    struct tfl_ints *nodes, *inputs, *outputs;
};

struct tfl_context {
    size_t tensor_count;
    int (*get_plan)(struct tfl_context *context, struct tfl_ints **plan);
    struct tfl_tensor *tensors;
    void *impl;
    int (*resize)(struct tfl_context *context, struct tfl_tensor *tensor, struct tfl_ints *dims); /* which it frees */
    void (*report)(struct tfl_context *context, const char *format, ...);
    int (*add_tensors)(struct tfl_context *context, int count, int *first);
    int (*get_node)(struct tfl_context *context, int index, struct tfl_node **node,
                    struct tfl_registration **registration);
    int (*replace)(struct tfl_context *context, struct tfl_registration registration, const struct tfl_ints *nodes,
                   struct tfl_delegate *delegate);
    int num_threads;
    void *(*get_external)(struct tfl_context *context, int type);
    void (*set_external)(struct tfl_context *context, int type, void *external);
    bool allows_float16;
    void *profiler;
    void *(*allocate)(struct tfl_context *context, size_t bytes);
    int (*allocate_for_eval)(struct tfl_context *context, size_t bytes, void **data);
    int (*request_scratch)(struct tfl_context *context, size_t bytes, int *index);
    void *(*get_scratch)(struct tfl_context *context, int index);
    int (*resize_explicit)(struct tfl_context *context, struct tfl_tensor *tensor, int rank, const int *dims);
    int (*preview)(struct tfl_context *context, const struct tfl_ints *nodes, struct tfl_part **parts, int *count);
};

struct tfl_delegate {
    void *data;
    int (*prepare)(struct tfl_context *context, struct tfl_delegate *delegate);
    int (*copy_from_buffer)(struct tfl_context *context, struct tfl_delegate *delegate, int handle,
                            struct tfl_tensor *tensor);
    int (*copy_to_buffer)(struct tfl_context *context, struct tfl_delegate *delegate, int handle,
                          struct tfl_tensor *tensor);
    void (*free_buffer)(struct tfl_context *context, struct tfl_delegate *delegate, int *handle);
    int64_t flags;
    void *opaque; /* of later versions */
};

#endif
