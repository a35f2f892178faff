/* Operations on integers and on bytes, by which loops of all levels are told apart. */
#ifndef NNF_ELEMENTWISE_OPS_H
#define NNF_ELEMENTWISE_OPS_H

enum word_op { OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MAX, OP_MIN };

enum byte_op {
    OP_LARGER,
    OP_SMALLER,
    OP_LARGER_SIGNED,
    OP_SMALLER_SIGNED,
    OP_EQUAL,
    OP_NOT_EQUAL,
    OP_LESS,
    OP_LESS_EQUAL,
    OP_AND,
    OP_OR
};

#endif
