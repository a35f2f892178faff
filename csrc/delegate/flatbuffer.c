#include "flatbuffer.h"

#include <stdlib.h>
#include <string.h>

enum { WIDEST = 8, OFFSET = 4, MOST_SLOTS = 16 };

/* Appends zeros; returns where. */
static size_t append(struct fb *fb, size_t bytes)
{
    size_t at = fb->size;
    if (fb->failed || bytes > INT32_MAX - at) {
        fb->failed = true;
        return 0;
    }
    if (at + bytes > fb->room) {
        size_t room = fb->room ? fb->room : 1 << 12;
        while (room < at + bytes)
            room *= 2;
        uint8_t *data = realloc(fb->data, room);
        if (!data) {
            fb->failed = true;
            return 0;
        }
        fb->data = data;
        fb->room = room;
    }
    memset(fb->data + at, 0, bytes);
    fb->size = at + bytes;
    return at;
}

/* Appends zeros until `ahead` bytes further is a multiple of `alignment`. */
static void align(struct fb *fb, size_t ahead, size_t alignment)
{
    append(fb, (alignment - (fb->size + ahead) % alignment) % alignment);
}

void fb_set(struct fb *fb, size_t at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; !fb->failed && i < bytes; i++)
        fb->data[at + i] = (uint8_t)(value >> (8 * i));
}

void fb_point(struct fb *fb, size_t at, size_t target)
{
    fb_set(fb, at, target - at, OFFSET);
}

size_t fb_start(struct fb *fb, const char identifier[4])
{
    size_t at = append(fb, OFFSET + 4);
    for (size_t i = 0; i < 4; i++)
        fb_set(fb, at + OFFSET + i, (uint8_t)identifier[i], 1);
    return at;
}

size_t fb_table(struct fb *fb, struct fb_field *fields, size_t count)
{
    int slots = 0;
    for (size_t i = 0; i < count; i++)
        if (fields[i].slot >= slots)
            slots = fields[i].slot + 1;
    size_t names = 4 + 2 * (size_t)slots, size = OFFSET;
    if (slots > MOST_SLOTS)
        fb->failed = true;
    align(fb, names, WIDEST);
    size_t vtable = append(fb, names), table = vtable + names;
    append(fb, OFFSET);
    for (int bytes = WIDEST; bytes; bytes /= 2) /* wide fields first, so that few bytes lie between them */
        for (size_t i = 0; i < count; i++)
            if (fields[i].bytes == bytes) {
                align(fb, 0, (size_t)bytes);
                fields[i].at = append(fb, (size_t)bytes);
                fb_set(fb, fields[i].at, fields[i].value, (size_t)bytes);
                fb_set(fb, vtable + 4 + 2 * (size_t)fields[i].slot, fields[i].at - table, 2);
                size = fields[i].at - table + (size_t)bytes;
            }
    fb_set(fb, vtable, names, 2);
    fb_set(fb, vtable + 2, size, 2);
    fb_set(fb, table, names, OFFSET);
    return table;
}

size_t fb_vector(struct fb *fb, size_t count, size_t item_bytes)
{
    align(fb, OFFSET, item_bytes < OFFSET ? OFFSET : item_bytes);
    size_t at = append(fb, OFFSET);
    fb_set(fb, at, count, OFFSET);
    append(fb, count > INT32_MAX / WIDEST ? SIZE_MAX : count * item_bytes);
    return at;
}

size_t fb_item(size_t vector, size_t index, size_t item_bytes)
{
    return vector + OFFSET + index * item_bytes;
}

size_t fb_text(struct fb *fb, const char *text, size_t size)
{
    size_t at = fb_vector(fb, size, 1);
    append(fb, 1);
    if (!fb->failed && size)
        memcpy(fb->data + at + OFFSET, text, size);
    return at;
}

void fb_free(struct fb *fb)
{
    free(fb->data);
    *fb = (struct fb){0};
}
