#include "error.h"

void
sc_error_set(struct sc_error *error, enum sc_operation operation, int code)
{
    if (error->operation == SC_OP_NONE) {
        error->operation = operation;
        error->code = code;
    }
}
