/* Rows of integers of one type. Include after WORD, the type, and NAME(what), a name for it. */

/* A quotient, and what goes by it. Vectors divide in double, which is exact for up to 32 bits: what is not whole is at
 * least 1 / |b| from a whole number, and the rounding less than 2^-21 / |b|. */
static inline WORD NAME(divide)(enum nnf_integer_op op, WORD a, WORD b)
{
    const WORD sign = (WORD)-1 < 0 ? (WORD)((uint64_t)1 << (8 * sizeof(WORD) - 1)) : 0;
    WORD whole, rest;
    bool is_below;
    if (IN_VECTORS && sizeof(WORD) <= sizeof(int32_t)) {
        const int32_t divisor = (int32_t)b + (b == 0);
        const double exact = (double)(int32_t)a / (double)divisor;
        whole = (WORD)(int32_t)(exact > INT32_MAX ? (double)INT32_MIN : exact); /* INT32_MIN / -1 wraps */
        rest = (WORD)((uint32_t)a - (uint32_t)whole * (uint32_t)divisor);
    } else {
        if (b == 0)
            return 0;
        if ((WORD)-1 < 0 && b == (WORD)-1) /* the machine's division of the least number by it traps */
            return op == NNF_FLOOR_MOD ? 0 : (WORD)(0 - (uint64_t)a);
        whole = (WORD)(a / b);
        rest = (WORD)(a % b);
    }
    is_below = (op != NNF_QUOTIENT) & (rest != 0) & (((rest ^ b) & sign) != 0);
    whole = op == NNF_FLOOR_MOD ? (WORD)(rest + (b & -is_below)) : (WORD)(whole - is_below);
    return (WORD)(whole & -(b != 0)); /* masks, no branches: those keep compilers from vectors */
}

/* What wraps is computed in 64 unsigned bits, of which the low ones stay. */
static inline WORD NAME(apply)(enum nnf_integer_op op, WORD a, WORD b)
{
    const int most = 8 * (int)sizeof(WORD) - 1;
    const int64_t second = b;
    uint64_t power, base;
    WORD exponent;
    switch (op) {
    case NNF_ADD:
        return (WORD)((uint64_t)a + (uint64_t)b);
    case NNF_SUB:
        return (WORD)((uint64_t)a - (uint64_t)b);
    case NNF_MUL:
        return (WORD)((uint64_t)a * (uint64_t)b);
    case NNF_MAX:
        return a > b ? a : b;
    case NNF_MIN:
        return a < b ? a : b;
    case NNF_XOR:
        return a ^ b;
    case NNF_SHIFT:
        return (WORD)(a >> (second < 0 ? 0 : second > most ? most : (int)second));
    case NNF_QUOTIENT:
    case NNF_FLOOR_DIV:
    case NNF_FLOOR_MOD:
        return NAME(divide)(op, a, b);
    default:
        for (power = 1, base = (uint64_t)a, exponent = b; exponent > 0; exponent >>= 1, base *= base)
            power *= exponent & 1 ? base : 1;
        return (WORD)power;
    }
}

static inline uint8_t NAME(holds)(enum nnf_relation relation, WORD a, WORD b)
{
    switch (relation) {
    case NNF_EQUAL:
        return a == b;
    case NNF_NOT_EQUAL:
        return a != b;
    case NNF_LESS:
        return a < b;
    default:
        return a <= b;
    }
}

/* Loops apart by what repeats, so that a compiler can make vectors of them: y is an operand or apart from it. */
#define ROW(type, value)                                                                                               \
    do {                                                                                                               \
        const WORD *left = a, *right = b;                                                                              \
        type *result = y;                                                                                              \
        if (step_a && step_b) {                                                                                        \
            NNF_INDEPENDENT                                                                                            \
            for (size_t i = 0; i < n; i++)                                                                             \
                result[i] = value(left[i], right[i]);                                                                  \
        } else if (step_a) {                                                                                           \
            const WORD second = *right;                                                                                \
            NNF_INDEPENDENT                                                                                            \
            for (size_t i = 0; i < n; i++)                                                                             \
                result[i] = value(left[i], second);                                                                    \
        } else {                                                                                                       \
            const WORD first = *left;                                                                                  \
            NNF_INDEPENDENT                                                                                            \
            for (size_t i = 0; i < n; i++)                                                                             \
                result[i] = value(first, right[i * step_b]);                                                           \
        }                                                                                                              \
    } while (0)

INLINE void NAME(row)(enum nnf_integer_op op, size_t n, const void *a, size_t step_a, const void *b, size_t step_b,
                      void *y)
{
#define VALUE(first, second) NAME(apply)(op, first, second)
    if (n)
        ROW(WORD, VALUE);
#undef VALUE
}

INLINE void NAME(truths)(enum nnf_relation op, size_t n, const void *a, size_t step_a, const void *b, size_t step_b,
                         void *y)
{
#define VALUE(first, second) NAME(holds)(op, first, second)
    if (n)
        ROW(uint8_t, VALUE);
#undef VALUE
}

static void NAME(arithmetic)(int op, size_t n, const void *a, size_t step_a, const void *b, size_t step_b, void *y)
{
    switch ((enum nnf_integer_op)op) {
    case NNF_ADD:
        NAME(row)(NNF_ADD, n, a, step_a, b, step_b, y);
        break;
    case NNF_SUB:
        NAME(row)(NNF_SUB, n, a, step_a, b, step_b, y);
        break;
    case NNF_MUL:
        NAME(row)(NNF_MUL, n, a, step_a, b, step_b, y);
        break;
    case NNF_MAX:
        NAME(row)(NNF_MAX, n, a, step_a, b, step_b, y);
        break;
    case NNF_MIN:
        NAME(row)(NNF_MIN, n, a, step_a, b, step_b, y);
        break;
    case NNF_XOR:
        NAME(row)(NNF_XOR, n, a, step_a, b, step_b, y);
        break;
    case NNF_SHIFT:
        NAME(row)(NNF_SHIFT, n, a, step_a, b, step_b, y);
        break;
    case NNF_QUOTIENT:
        NAME(row)(NNF_QUOTIENT, n, a, step_a, b, step_b, y);
        break;
    case NNF_FLOOR_DIV:
        NAME(row)(NNF_FLOOR_DIV, n, a, step_a, b, step_b, y);
        break;
    case NNF_FLOOR_MOD:
        NAME(row)(NNF_FLOOR_MOD, n, a, step_a, b, step_b, y);
        break;
    case NNF_POW:
        NAME(row)(NNF_POW, n, a, step_a, b, step_b, y);
        break;
    }
}

static void NAME(relation)(int op, size_t n, const void *a, size_t step_a, const void *b, size_t step_b, void *y)
{
    switch ((enum nnf_relation)op) {
    case NNF_EQUAL:
        NAME(truths)(NNF_EQUAL, n, a, step_a, b, step_b, y);
        break;
    case NNF_NOT_EQUAL:
        NAME(truths)(NNF_NOT_EQUAL, n, a, step_a, b, step_b, y);
        break;
    case NNF_LESS:
        NAME(truths)(NNF_LESS, n, a, step_a, b, step_b, y);
        break;
    case NNF_LESS_EQUAL:
        NAME(truths)(NNF_LESS_EQUAL, n, a, step_a, b, step_b, y);
        break;
    }
}

#undef ROW
#undef WORD
#undef NAME
