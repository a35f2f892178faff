/* Numbers of the driver's protocol (docs/protocol.md), those that this client uses.
 * tests/ndk/test_headers.py holds them against nnfast/service/wire/protocol.py. */
#ifndef NDK_PROTOCOL_H
#define NDK_PROTOCOL_H

#define NDK_MAGIC "nnfast"
#define NDK_MODEL_MAGIC "NNFMDL02"

enum {
    NDK_VERSION = 7,
    NDK_MAX_PACKET = 1 << 16,
    NDK_MAX_CALL = 1 << 18,
    NDK_LINE = 64, /* alignment of arrays in the arena, and of constants */
};

enum ndk_tag {
    NDK_ARENA = 1,
    NDK_ADD_MEMORY = 2,
    NDK_RELEASE = 3,
    NDK_PING = 10,
    NDK_CHECK = 13,
    NDK_GET_UNSUPPORTED = 14,
    NDK_PREPARE = 15,
    NDK_RUN = 22,
    NDK_EXECUTE = 23,
    NDK_STORE = 29,
    NDK_OPEN_BURST = 30,
    NDK_LOAD_CACHE = 33,
    NDK_DONE = 100,
    NDK_FAILURE = 101,
    NDK_WELCOME = 102,
    NDK_TEXT = 104,
    NDK_NUMBER = 105,
    NDK_UNSUPPORTED = 106,
    NDK_PREPARED = 108,
    NDK_RESULTS = 111,
    NDK_EXECUTED = 112,
};

enum ndk_status {
    NDK_DEVICE_UNAVAILABLE = 1,
    NDK_GENERAL_FAILURE = 2,
    NDK_OUTPUT_INSUFFICIENT_SIZE = 3,
    NDK_INVALID_ARGUMENT = 4,
    NDK_MISSED_DEADLINE_TRANSIENT = 5,
    NDK_MISSED_DEADLINE_PERSISTENT = 6,
    NDK_RESOURCE_EXHAUSTED_TRANSIENT = 7,
    NDK_RESOURCE_EXHAUSTED_PERSISTENT = 8,
};

#endif
