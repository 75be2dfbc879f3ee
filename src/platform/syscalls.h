/* How system calls are made replaceable.  A platform lists its calls as
   X(result, name, parameters, arguments, the call itself) and expands the
   list with SC_DEFINE_SYSCALLS.  In a testing build (SPEEDCOPY_TESTING) each
   goes through a table whose entries a test can replace, to make any call
   fail, stop short or lie; other builds call directly. */
#ifndef SPEEDCOPY_SYSCALLS_H
#define SPEEDCOPY_SYSCALLS_H

#define SC_REAL_CALL(result, name, parameters, arguments, call)              \
    static inline result sc_real_##name parameters                           \
    {                                                                        \
        return call;                                                         \
    }
#define SC_TABLE_ENTRY(result, name, parameters, arguments, call)            \
    result(*name) parameters;

#ifdef SPEEDCOPY_TESTING
#define SC_DISPATCH(table, name) table.name
#else
#define SC_DISPATCH(table, name) sc_real_##name
#endif

#endif
