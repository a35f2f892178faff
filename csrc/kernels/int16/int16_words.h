/* What the vectors of all levels say of the types of words. */
#ifndef NNF_INT16_WORDS_H
#define NNF_INT16_WORDS_H

#include "int16/int16.h"

enum word_type { TYPE_S8 = 1, TYPE_S16 = 2, TYPE_S32 = 4 }; /* bytes of one */

#endif
