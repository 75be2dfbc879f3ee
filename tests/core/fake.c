#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RULES 16

struct rule {
    bool used;
    enum fake_call call;
    unsigned nth;
    unsigned times;
    int code;
    size_t limit;
    void (*hook)(void);
};

struct fake fake;
const struct sc_strategy *fake_ladder[FAKE_LADDER + 1];

static struct rule rules[RULES];
static uint64_t next_inode;

static const char *const call_names[FAKE_CALL_COUNT] = {
    [FAKE_STAT_LOCATION] = "stat",
    [FAKE_STAT_HANDLE] = "fstat",
    [FAKE_OPEN_SOURCE] = "open_source",
    [FAKE_OPEN_TARGET] = "open_target",
    [FAKE_CLOSE] = "close",
    [FAKE_READ] = "read",
    [FAKE_WRITE] = "write",
    [FAKE_SEEK] = "seek",
    [FAKE_TRUNCATE] = "truncate",
    [FAKE_FIND_DATA] = "find_data",
    [FAKE_SET_TIMES] = "set_times",
    [FAKE_SET_MODE] = "set_mode",
    [FAKE_SET_OWNER] = "set_owner",
    [FAKE_COPY_XATTRS] = "copy_xattrs",
    [FAKE_COPY_FLAGS] = "copy_flags",
    [FAKE_SYNC] = "sync",
    [FAKE_SYNC_FOLDER] = "sync_folder",
    [FAKE_RESOLVE] = "resolve",
    [FAKE_RENAME] = "rename",
    [FAKE_REMOVE] = "remove",
};

/* --- arranging ---------------------------------------------------------- */

void
fake_reset(void)
{
    for (size_t i = 0; i < FAKE_FILES; i++) {
        free(fake.files[i].data);
    }
    memset(&fake, 0, sizeof(fake));
    memset(rules, 0, sizeof(rules));
    memset(fake_ladder, 0, sizeof(fake_ladder));
    fake_ladder[0] = &sc_small;
    fake_ladder[1] = &sc_read_write;
    fake.offload = true;
    next_inode = 100;
}

static void
add_rule(struct rule rule)
{
    for (size_t i = 0; i < RULES; i++) {
        if (!rules[i].used) {
            rules[i] = rule;
            rules[i].used = true;
            return;
        }
    }
    abort();
}

void
fake_fail(enum fake_call call, unsigned nth, unsigned times, int code)
{
    add_rule((struct rule){.call = call,
                           .nth = nth,
                           .times = times,
                           .code = code,
                           .limit = SIZE_MAX});
}

void
fake_limit(enum fake_call call, unsigned nth, unsigned times, size_t limit)
{
    add_rule((struct rule){
        .call = call, .nth = nth, .times = times, .limit = limit});
}

void
fake_before(enum fake_call call, unsigned nth, void (*hook)(void))
{
    add_rule((struct rule){.call = call,
                           .nth = nth,
                           .times = 1,
                           .limit = SIZE_MAX,
                           .hook = hook});
}

void
fake_fill(unsigned char *data, size_t size, unsigned seed)
{
    uint32_t state = seed * 2654435761u + 12345u;
    for (size_t i = 0; i < size; i++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        data[i] = (unsigned char)(state | 1u); /* never zero */
    }
}

void
fake_set_size(struct fake_file *file, size_t size)
{
    if (size > file->capacity) {
        size_t capacity = size < 4096 ? 4096 : size + size / 2;
        unsigned char *data = realloc(file->data, capacity);
        if (data == NULL) {
            abort();
        }
        file->data = data;
        file->capacity = capacity;
    }
    if (size > file->size) {
        memset(file->data + file->size, 0, size - file->size);
    }
    file->size = size;
}

struct fake_file *
fake_add(const char *name, size_t size, unsigned seed)
{
    for (size_t i = 0; i < FAKE_FILES; i++) {
        struct fake_file *file = &fake.files[i];
        if (!file->used) {
            memset(file, 0, sizeof(*file));
            file->used = true;
            file->linked = true;
            (void)snprintf(file->name, sizeof(file->name), "%s", name);
            file->stat.device = 7;
            file->stat.inode = next_inode++;
            file->stat.mode = 0644;
            file->stat.uid = 11;
            file->stat.gid = 22;
            fake_set_size(file, size);
            if (size > 0) {
                fake_fill(file->data, size, seed);
            }
            return file;
        }
    }
    abort();
}

struct fake_file *
fake_find(const char *name)
{
    for (size_t i = 0; i < FAKE_FILES; i++) {
        struct fake_file *file = &fake.files[i];
        if (file->used && file->linked && strcmp(file->name, name) == 0) {
            return file;
        }
    }
    return NULL;
}

void
fake_unlink(const char *name)
{
    struct fake_file *file = fake_find(name);
    if (file != NULL) {
        file->linked = false; /* handles keep it; reset frees it */
    }
}

bool
fake_same(const struct fake_file *file, const void *data, size_t size)
{
    return file != NULL && file->size == size &&
           (size == 0 || memcmp(file->data, data, size) == 0);
}

struct sc_options
fake_options(void)
{
    return (struct sc_options){.methods = SC_ALL_METHODS};
}

enum sc_status
fake_copy(const struct sc_options *options, struct sc_file *ret_file)
{
    const struct sc_location source = {SC_WORKING_DIRECTORY, "source"};
    const struct sc_location target = {SC_WORKING_DIRECTORY, "target"};
    sc_file_init(ret_file, source, target, true, options);
    return sc_file_copy(ret_file);
}

int
fake_enter(enum fake_call call, size_t *limit)
{
    unsigned number = ++fake.calls[call];
    size_t used = strlen(fake.log);
    (void)snprintf(fake.log + used, sizeof(fake.log) - used, "%s%s",
                   used == 0 ? "" : " ", call_names[call]);
    int code = 0;
    for (size_t i = 0; i < RULES; i++) {
        const struct rule *rule = &rules[i];
        if (rule->used && rule->call == call && number >= rule->nth &&
            number - rule->nth < rule->times) {
            if (rule->hook != NULL) {
                rule->hook();
            }
            if (limit != NULL && rule->limit < *limit) {
                *limit = rule->limit;
            }
            code = rule->code != 0 ? rule->code : code;
        }
    }
    return code;
}
