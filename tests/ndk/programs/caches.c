#include "cases.h"
#include <dirent.h>
#include <sys/stat.h>

static const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN], other_token[32] = {1};

static void arguments(void)
{
    Model *model = plain_add();
    Compilation *compilation;
    IS(ANeuralNetworksCompilation_create(model, &compilation), OK);
    IS(ANeuralNetworksCompilation_setCaching(NULL, "/tmp", token), N);
    IS(ANeuralNetworksCompilation_setCaching(compilation, NULL, token), N);
    IS(ANeuralNetworksCompilation_setCaching(compilation, "/tmp", NULL), N);
    IS(ANeuralNetworksCompilation_setCaching(compilation, "/no/such/directory", token), OK);
    IS(ANeuralNetworksCompilation_setCaching(compilation, "/no/such/directory/", token), OK);
    IS(ANeuralNetworksCompilation_finish(compilation), OK);
    IS(ANeuralNetworksCompilation_setCaching(compilation, "/tmp", token), S);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

/* Compiles with a directory, and runs what came of it. */
static void compile(Model *model, const char *directory, const uint8_t *with, int preference)
{
    struct sums sums = {{1, 2}, {3, 4}, {0}, 0};
    Compilation *compilation;
    IS(ANeuralNetworksCompilation_create(model, &compilation), OK);
    IS(ANeuralNetworksCompilation_setPreference(compilation, preference), OK);
    IS(ANeuralNetworksCompilation_setCaching(compilation, directory, with), OK);
    IS(ANeuralNetworksCompilation_finish(compilation), OK);
    Execution *execution = new_execution(compilation);
    give(execution, &sums);
    IS(ANeuralNetworksExecution_compute(execution), OK);
    TRUE_(sums.z[0] == 4 && sums.z[1] == 6);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
}

/* Calls `with`, if there is one, for each file; returns how many there are. */
static int files(const char *directory, void (*with)(const char *))
{
    DIR *folder = opendir(directory);
    struct dirent *entry;
    char path[600];
    int count = 0;
    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
            count++;
            if (with)
                with(path);
        }
    closedir(folder);
    return count;
}

static uint64_t versions;

/* A new file may have the number of one that is gone: its time tells them apart. */
static void add_version(const char *path)
{
    struct stat found;
    IS(stat(path, &found), 0);
    IS(found.st_mode & 0777, 0600);
    versions += found.st_ino + UINT64_C(1000003) * ((uint64_t)found.st_mtim.tv_sec * 1000000000 +
                                                    (uint64_t)found.st_mtim.tv_nsec);
}

static void shorten(const char *path)
{
    IS(truncate(path, 40), 0);
}

static void spoil(const char *path)
{
    FILE *file = fopen(path, "r+");
    fputs("something else", file);
    fclose(file);
}

static void empty(const char *path)
{
    IS(truncate(path, 0), 0);
}

static void drop(const char *path)
{
    IS(unlink(path), 0);
}

static uint64_t versions_of(const char *directory)
{
    versions = 0;
    files(directory, add_version);
    return versions;
}

static void directories(void)
{
    static void (*const damages[])(const char *) = {shorten, spoil, empty};
    char directory[] = "/tmp/nnfast-test-XXXXXX";
    TRUE_(mkdtemp(directory));
    Model *model = plain_add(), *equal = plain_add();
    Compilation *without = compiled(model); /* a directory later is as good as at first */
    compile(model, directory, token, 1);
    ANeuralNetworksCompilation_free(without);
    IS(files(directory, NULL), 2);
    uint64_t before = versions_of(directory);
    compile(model, directory, token, 1); /* again, and from the files, which stay as they are */
    compile(equal, directory, token, 1);
    TRUE_(versions_of(directory) == before);
    for (int i = 0; i < 3; i++) { /* whatever is wrong with them, they are made anew: for what is there, and what is not */
        Model *third = plain_add(), *which[] = {model, third};
        for (int k = 0; k < 2; k++) {
            files(directory, damages[i]);
            compile(which[k], directory, token, 1);
            IS(files(directory, NULL), 2);
            TRUE_(versions_of(directory) != before);
            before = versions_of(directory);
        }
        ANeuralNetworksModel_free(third);
    }
    compile(model, directory, token, 0);
    compile(model, directory, other_token, 1);
    IS(files(directory, NULL), 6);
    /* one token for two models */
    Model *another = finished(add_model(FLOAT2, FLOAT_OF(ONE), FLOAT2));
    Compilation *compilation;
    IS(ANeuralNetworksCompilation_create(another, &compilation), OK);
    IS(ANeuralNetworksCompilation_setCaching(compilation, directory, token), OK);
    IS(ANeuralNetworksCompilation_finish(compilation), OK);
    ANeuralNetworksCompilation_free(compilation);
    IS(files(directory, NULL), 8);
    files(directory, drop);
    rmdir(directory);
    ANeuralNetworksModel_free(another);
    ANeuralNetworksModel_free(equal);
    ANeuralNetworksModel_free(model);
}

static const struct test tests[] = {{"arguments", arguments}, {"directories", directories}};
MAIN(tests)
