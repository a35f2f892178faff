/* Writes flatbuffers from the front: a table first, what it refers to behind it. */
#ifndef DELEGATE_FLATBUFFER_H
#define DELEGATE_FLATBUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that grow. failed: there was no memory, or no room in 32 bits; nothing is written from then on. */
struct fb {
    uint8_t *data;
    size_t size, room;
    bool failed;
};

/* A field of a table: its slot, bytes (1, 4 or 8) and value; for what an offset leads to, bytes 4 and value 0. at: where
 * it was written. */
struct fb_field {
    int slot, bytes;
    uint64_t value;
    size_t at;
};

/* Each returns where the thing begins. */
size_t fb_start(struct fb *fb, const char identifier[4]); /* the root offset, which is the first thing of a file */
size_t fb_table(struct fb *fb, struct fb_field *fields, size_t count);
size_t fb_vector(struct fb *fb, size_t count, size_t item_bytes); /* of zeros */
size_t fb_text(struct fb *fb, const char *text, size_t size);

/* Item of a vector. */
size_t fb_item(size_t vector, size_t index, size_t item_bytes);

/* Sets bytes; lets the offset at a place lead to a thing behind it. */
void fb_set(struct fb *fb, size_t at, uint64_t value, size_t bytes);
void fb_point(struct fb *fb, size_t at, size_t target);
void fb_free(struct fb *fb);

#endif
