/* A clock that goes 10 ms with each look and stands after a second: a program that moves by it comes to rest in the
 * same picture on every machine. It is preloaded, and is only for the looks of the programs' own code: drivers,
 * libraries and Runahead have the real one. When it has stood for some looks, it makes the file that CLOCK_STANDS
 * names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Whether an address is code of a program that is to stand still. */
static int is_ours(const void *address) {
    static const char *const programs[] = {"es2gears_x11", "glmark2-es2"};
    Dl_info caller, program;
    for (size_t at = 0; at < sizeof programs / sizeof *programs; at++) {
        if (strcmp(program_invocation_short_name, programs[at]) == 0) {
            return dladdr(address, &caller) != 0 && dladdr((void *)getauxval(AT_ENTRY), &program) != 0 &&
                   caller.dli_fbase == program.dli_fbase;
        }
    }
    return 0;
}

static struct timespec look(void) {
    static atomic_int looks;
    int look = atomic_fetch_add(&looks, 1);
    const char *stands = look == 130 ? getenv("CLOCK_STANDS") : NULL;
    if (stands != NULL) {
        int file = open(stands, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        if (file >= 0) {
            close(file);
        }
    }
    if (look > 100) {
        look = 100;
    }
    return (struct timespec){.tv_sec = 1000000000 + look / 100, .tv_nsec = look % 100 * 10000000L};
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec time;
    if (is_ours(__builtin_return_address(0))) {
        time = look();
    } else {
        syscall(SYS_clock_gettime, CLOCK_REALTIME, &time);
    }
    if (now != NULL) {
        now->tv_sec = time.tv_sec;
        now->tv_usec = time.tv_nsec / 1000;
    }
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!is_ours(__builtin_return_address(0))) {
        return (int)syscall(SYS_clock_gettime, clock, now);
    }
    *now = look();
    return 0;
}
