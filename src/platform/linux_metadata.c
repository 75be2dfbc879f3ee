#include "linux_metadata.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "linux_syscalls.h"

/* Nearly all lists and values fit; what does not is asked for by size. */
#define STACK_SIZE ((size_t)512)

#define ACL_PREFIX "system.posix_acl_"

struct grown {
    char *data; /* `stack`, or allocated */
    char stack[STACK_SIZE];
};

static void
grown_free(struct grown *buffer)
{
    if (buffer->data != buffer->stack) {
        free(buffer->data);
    }
}

/* The list of names, or with `name` the value of that one. */
static ssize_t
ask(const struct sc_place *place, const char *name, char *data, size_t size)
{
    int fd = (int)place->handle;
    const char *path = place->location.path;
    if (place->handle == SC_NO_HANDLE) {
        return name == NULL ? sc_sys_listxattr(path, data, size)
                            : sc_sys_getxattr(path, name, data, size);
    }
    return name == NULL ? sc_sys_flistxattr(fd, data, size)
                        : sc_sys_fgetxattr(fd, name, data, size);
}

/* What changes its size under our eyes this often does so on purpose. */
#define TRIES 16

/* Ask, with as much room as it takes.  The answer may grow between two
   questions, or shrink to nothing: a size of 0 would be taken for a question,
   and its answer for the length of what was written. */
static int
ask_whole(const struct sc_place *place, const char *name,
          struct grown *buffer, size_t *ret_size)
{
    buffer->data = buffer->stack;
    ssize_t size = ask(place, name, buffer->data, STACK_SIZE);
    for (int i = 0; size < 0 && errno == ERANGE && i < TRIES; i++) {
        ssize_t wanted = ask(place, name, NULL, 0);
        if (wanted < 0) {
            return errno;
        }
        grown_free(buffer);
        buffer->data = malloc((size_t)wanted + 1);
        if (buffer->data == NULL) {
            buffer->data = buffer->stack;
            return ENOMEM;
        }
        size = ask(place, name, buffer->data, (size_t)wanted + 1);
    }
    if (size < 0) {
        return errno;
    }
    *ret_size = (size_t)size;
    return 0;
}

static int
set(const struct sc_place *place, const char *name, const char *value,
    size_t size)
{
    int result =
        place->handle == SC_NO_HANDLE
            ? sc_sys_setxattr(place->location.path, name, value, size)
            : sc_sys_fsetxattr((int)place->handle, name, value, size);
    return result < 0 ? errno : 0;
}

/* shutil passes over one attribute for these.  Since 3.12 also for EACCES:
   that is left to the running Python's own to decide. */
static bool
passed_over(int code)
{
    return code == EPERM || code == ENOTSUP || code == ENODATA ||
           code == EINVAL;
}

static bool
is_acl(const char *name)
{
    return strncmp(name, ACL_PREFIX, strlen(ACL_PREFIX)) == 0;
}

static int
copy_one(const struct sc_place *source, const struct sc_place *target,
         const char *name, unsigned which)
{
    struct grown value;
    size_t size = 0;
    int code = ask_whole(source, name, &value, &size);
    if (code == 0) {
        code = set(target, name, value.data, size);
    }
    grown_free(&value);
    if ((which & SC_PRESERVE_ACL) && is_acl(name)) {
        return code; /* asked for by name */
    }
    return passed_over(code) ? 0 : code;
}

static bool
wanted(const char *name, unsigned which)
{
    return (which & SC_PRESERVE_XATTRS) || is_acl(name);
}

int
sc_linux_copy_xattrs(const struct sc_place *source,
                     const struct sc_place *target, unsigned which)
{
    struct grown names;
    size_t size = 0;
    int code = ask_whole(source, NULL, &names, &size);
    if (code == ENOTSUP || code == ENODATA || code == EINVAL) {
        code = 0;
        size = 0;
    }
    for (size_t at = 0; code == 0 && at < size;) {
        const char *name = names.data + at;
        if (wanted(name, which)) {
            code = copy_one(source, target, name, which);
        }
        at += strlen(name) + 1;
    }
    grown_free(&names);
    return code;
}

int
sc_linux_clear_acl(const struct sc_place *place)
{
    int result = sc_sys_fremovexattr((int)place->handle, ACL_PREFIX "access");
    if (result == 0 || errno == ENODATA || errno == ENOTSUP) {
        return 0;
    }
    return errno;
}
