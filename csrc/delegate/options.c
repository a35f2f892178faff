#include "options.h"

#include <string.h>

enum { MOST_DIMS = 8, MOST_MEMBERS = 12 };

#define BOOL(slot) {DLG_BOOL, slot},
#define INT(slot) {DLG_INT, slot},
#define LONG(slot) {DLG_LONG, slot},
#define FLOAT(slot) {DLG_FLOAT, slot},
#define ENUM(slot) {DLG_ENUM, slot},
#define KIND(slot) {DLG_KIND, slot},
#define INTS(slot) {DLG_INTS, slot},
#define LONGS(slot) {DLG_LONGS, slot},
#define FLOATS(slot) {DLG_FLOATS, slot},
#define FROM(version) {DLG_FROM, version},

#define LEFT(name, code)
#define PLAIN(name, code)
#define OPTIONS(name, code, which, number, members) static const struct dlg_member members_of_##name[] = {members};
#include "options.inc"
#undef PLAIN
#undef OPTIONS

#define PLAIN(name, code) {#name, code, 0, 0, NULL, 0},
#define OPTIONS(name, code, which, number, members) \
    {#name, code, number, which, members_of_##name, sizeof members_of_##name / sizeof *members_of_##name},
static const struct dlg_operator operators[] = {
#include "options.inc"
};

const struct dlg_operator *dlg_operator(int code)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (operators[i].code == code)
            return &operators[i];
    return NULL;
}

/* A member in TFLite's structure: where it lies, and its number, or numbers. */
struct found {
    const uint8_t *at;
    int64_t value;
    uint32_t bits; /* of a float */
    size_t count, item_bytes;
};

/* Goes to the next place of this alignment, and past so many bytes. */
static const uint8_t *step(const uint8_t *options, size_t *at, size_t alignment, size_t bytes)
{
    *at = (*at + alignment - 1) / alignment * alignment;
    const uint8_t *here = options + *at;
    *at += bytes;
    return here;
}

static int read_int(const uint8_t *at)
{
    int value;
    memcpy(&value, at, sizeof value);
    return value;
}

static struct found find(const struct dlg_member *member, const uint8_t *options, size_t *at)
{
    struct found found = {0};
    int count;
    switch (member->kind) {
    case DLG_BOOL:
        found.value = *step(options, at, 1, 1) != 0;
        break;
    case DLG_LONG:
        memcpy(&found.value, step(options, at, 8, 8), sizeof found.value);
        break;
    case DLG_FLOAT:
        memcpy(&found.bits, step(options, at, 4, 4), sizeof found.bits);
        break;
    case DLG_INTS:
    case DLG_LONGS:
        found.item_bytes = member->kind == DLG_INTS ? 4 : 8;
        found.at = step(options, at, found.item_bytes, found.item_bytes * MOST_DIMS);
        count = read_int(step(options, at, 4, 4));
        found.count = count < 0 ? SIZE_MAX : (size_t)count;
        break;
    case DLG_FLOATS:
        found.item_bytes = 4;
        count = read_int(step(options, at, 4, 4));
        found.count = count < 0 ? SIZE_MAX : (size_t)count;
        memcpy(&found.at, step(options, at, sizeof found.at, sizeof found.at), sizeof found.at);
        break;
    case DLG_INT:
    case DLG_ENUM:
    case DLG_KIND:
        found.value = read_int(step(options, at, 4, 4));
        break;
    case DLG_FROM:
        break;
    }
    return found;
}

bool dlg_can_put(const struct dlg_operator *operator, int version, const void *options)
{
    size_t at = 0;
    if (operator->which && !options)
        return false;
    for (size_t i = 0; i < operator->count; i++) {
        const struct dlg_member *member = &operator->members[i];
        if (member->kind == DLG_FROM && version < member->slot)
            break;
        struct found found = find(member, options, &at);
        bool is_row = member->kind == DLG_INTS || member->kind == DLG_LONGS;
        if ((is_row && found.count > MOST_DIMS) || (member->kind == DLG_FLOATS && (found.count > INT16_MAX || !found.at)) ||
            (member->kind == DLG_KIND && (found.value < 1 || found.value > INT8_MAX)) ||
            (member->kind == DLG_ENUM && (found.value < 0 || found.value > INT8_MAX)))
            return false;
    }
    return true;
}

size_t dlg_put_options(struct fb *fb, const struct dlg_operator *operator, int version, const void *options)
{
    struct fb_field fields[MOST_MEMBERS];
    struct found rows[MOST_MEMBERS];
    size_t at = 0, count = 0;
    for (size_t i = 0; i < operator->count && count < MOST_MEMBERS; i++) {
        const struct dlg_member *member = &operator->members[i];
        if (member->kind == DLG_FROM) {
            if (version < member->slot)
                break;
            continue;
        }
        struct found found = find(member, options, &at);
        if (found.item_bytes && !found.count)
            continue; /* as in files that do not say */
        rows[count] = found;
        struct fb_field *field = &fields[count++];
        bool is_byte = member->kind == DLG_BOOL || member->kind == DLG_ENUM || member->kind == DLG_KIND;
        *field = (struct fb_field){member->slot, is_byte ? 1 : member->kind == DLG_LONG ? 8 : 4, 0, 0};
        if (member->kind == DLG_FLOAT)
            field->value = found.bits;
        else if (!found.item_bytes)
            field->value = (uint64_t)(found.value - (member->kind == DLG_KIND));
    }
    size_t table = fb_table(fb, fields, count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].item_bytes) {
            size_t vector = fb_vector(fb, rows[i].count, rows[i].item_bytes);
            if (!fb->failed)
                memcpy(fb->data + fb_item(vector, 0, rows[i].item_bytes), rows[i].at,
                       rows[i].count * rows[i].item_bytes);
            fb_point(fb, fields[i].at, vector);
        }
    return table;
}
