/* Reading a copy back. */
#ifndef SPEEDCOPY_VERIFY_H
#define SPEEDCOPY_VERIFY_H

#include "file.h"

/* Compare source and target byte by byte, the target as the device has it
   where the platform lets us ask for that. */
enum sc_status sc_verify(struct sc_file *file);

#endif
