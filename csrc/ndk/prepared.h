/* Models that the driver has prepared. All compilations of a model with the same settings share one, which the model
 * keeps: whoever compiles a model again waits for nothing. Of preferences only low power makes a difference. */
#ifndef NDK_PREPARED_H
#define NDK_PREPARED_H

#include "cache.h"

/* number: in the session. can_run: false for a model that compiles and never runs: contradictory shapes, or values of
 * constants that its operations do not take; it has no number. is_small: the driver may keep it for a while after its
 * end. next: of the same model. serial: see ends.h. stored: the files of a cache that it was last found in, or put into;
 * under the lock of the model. spins: runs may keep a processor busy while they wait for their results. runs,
 * lane_changes: of lane.c. */
struct ndk_prepared {
    struct ndk_prepared *next;
    atomic_int references;
    const char *priority; /* a text that stays */
    bool is_reference, can_run, is_small;
    struct ndk_session *session;
    int64_t number;
    uint64_t serial;
    struct ndk_cache_stamp stored;
    bool spins;
    atomic_int runs, lane_changes;
};

/* The prepared model, whose reference is the caller's. */
int ndk_prepare(const ANeuralNetworksModel *model, const struct ndk_settings *settings, struct ndk_prepared **prepared);
void ndk_prepared_unref(struct ndk_prepared *prepared);

/* Forgets all that a model keeps. */
void ndk_prepared_forget(ANeuralNetworksModel *model);

#endif
