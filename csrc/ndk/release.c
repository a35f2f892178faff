/* Releases of objects of the driver: at once, or with the next call. */
#include "release.h"

#include "session_parts.h"

static void put_release(struct ndk_buffer *message, const char *kind, const int64_t *numbers, size_t count)
{
    ndk_put_array(message, 2);
    ndk_put_int(message, NDK_RELEASE);
    ndk_put_array(message, count);
    for (size_t i = 0; i < count; i++) {
        ndk_put_array(message, 2);
        ndk_put_text(message, kind);
        ndk_put_int(message, numbers[i]);
    }
}

void ndk_session_release(struct ndk_session *session, const char *kind, int64_t number)
{
    struct ndk_buffer message = {0};
    put_release(&message, kind, &number, 1);
    if (!session->is_dead)
        ndk_send(session->events, &message, NULL, 0); /* a driver that does not get it has gone, with all it held */
    ndk_buffer_free(&message);
}

void ndk_session_release_later(struct ndk_session *session, int64_t number)
{
    pthread_mutex_lock(&session->lock);
    bool has_room = session->released_count < NDK_MOST_RELEASED;
    if (has_room)
        session->released[session->released_count++] = number;
    pthread_mutex_unlock(&session->lock);
    if (!has_room)
        ndk_session_release(session, "prepared", number);
}

void ndk_session_put_released(struct ndk_session *session, struct ndk_buffer *message)
{
    if (session->released_count)
        put_release(message, "prepared", session->released, session->released_count);
    session->released_count = 0;
}
