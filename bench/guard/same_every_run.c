/* Loaded before a counted program's own libraries: takes out what would be different in each run. Without it, counts would be
   up to half a percent apart. */
#include <stddef.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

/* The seeds of hash maps. */
ssize_t getrandom(void *buffer, size_t length, unsigned int flags) {
    (void)flags;
    memset(buffer, 0x5a, length);
    return (ssize_t)length;
}

/* The time stands still, at a full second: adding to another one may carry, which takes instructions. */
int clock_gettime(clockid_t clock, struct timespec *now) {
    (void)clock;
    now->tv_sec = 1796052000;
    now->tv_nsec = 0;
    return 0;
}
