/* A plugin of qemu-user's (6.0 and newer): how often each translated block of instructions ran.
 *   gcc -shared -fPIC -O2 -o qemu_blocks.so qemu_blocks.c; qemu-aarch64 -plugin ./qemu_blocks.so,out=FILE PROGRAM
 * At the end FILE has a line for each: hexadecimal address, instructions, times. Threads that run a block at once may lose
 * some of its times. Distributions do not ship the header of the plugins, so that what is used of it is declared here. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct qemu_plugin_tb;
typedef uint64_t qemu_plugin_id_t;

extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
extern uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);
extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                                  void (*translated)(qemu_plugin_id_t, struct qemu_plugin_tb *));
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int op, void *to, uint64_t value);
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*ended)(qemu_plugin_id_t, void *), void *data);

enum { ADD_U64 = 0 }; /* of enum qemu_plugin_op */

typedef struct block {
    uint64_t address, instructions, times;
    struct block *next;
} block;

__attribute__((visibility("default"))) int qemu_plugin_version = 1;
static block *blocks;
static char path[4096];

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    block *one = malloc(sizeof *one);
    if (!one)
        abort();
    *one = (block){qemu_plugin_tb_vaddr(tb), qemu_plugin_tb_n_insns(tb), 0, blocks};
    blocks = one;
    qemu_plugin_register_vcpu_tb_exec_inline(tb, ADD_U64, &one->times, 1);
}

static void ended(qemu_plugin_id_t id, void *data)
{
    (void)id;
    (void)data;
    FILE *file = fopen(path, "w");
    if (!file)
        return;
    for (const block *one = blocks; one; one = one->next)
        fprintf(file, "%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", one->address, one->instructions, one->times);
    fclose(file);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const void *about, int count,
                                                               char **arguments)
{
    (void)about;
    if (count != 1 || strncmp(arguments[0], "out=", 4) != 0 || strlen(arguments[0]) >= sizeof path)
        return -1;
    strcpy(path, arguments[0] + 4);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
