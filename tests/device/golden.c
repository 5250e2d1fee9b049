/* SPDX-License-Identifier: MIT */
/* The shipped network's answers to the shipped pictures, as ONNX Runtime gave them (record.py). */
#include "device.h"

#include <stdio.h>
#include <string.h>

enum { PICTURES = 10, CLASSES = 10, SIDE = 32, PIXELS = SIDE * SIDE * 3 };

/* embedded.S: files of PPM, whose pixels are their last bytes. In the order of names, as record.py goes. */
#define PICTURE(name) device_##name##_end
#define DECLARE(name) extern const uint8_t PICTURE(name)[]
DECLARE(airplane);
DECLARE(automobile);
DECLARE(bird);
DECLARE(cat);
DECLARE(deer);
DECLARE(dog);
DECLARE(frog);
DECLARE(horse);
DECLARE(ship);
DECLARE(truck);

static const uint8_t *const ends[PICTURES] = {PICTURE(airplane), PICTURE(automobile), PICTURE(bird),  PICTURE(cat),  PICTURE(deer),
                                              PICTURE(dog),      PICTURE(frog),       PICTURE(horse), PICTURE(ship), PICTURE(truck)};

static const float answers[PICTURES][CLASSES] = {
#include "answers.inc"
};

static enum morsel_error scores_of(const struct morsel_session *session, unsigned picture, float *scores) {
    static _Alignas(MORSEL_ALIGNMENT) uint8_t scratch[1 << 16];
    struct morsel_view view;
    enum morsel_error error = morsel_input(session, 0, &view);
    if (!error) error = morsel_picture(session->model, ends[picture] - PIXELS, PIXELS, SIDE, SIDE, 0, scratch, sizeof scratch, &view, 0);
    if (!error) error = morsel_run(session);
    if (!error) error = morsel_output(session, 0, &view);
    return error ? error : morsel_dequantize(&view, scores, CLASSES);
}

struct tally golden_compare(const struct subject *shipped, bool few) {
    struct tally tally = {0, 0};
    const char *set;
    uint32_t mask;
    for (unsigned s = 0; (set = kernel_set(s, &mask)); s++) {
        const struct morsel_options options = {.size = sizeof options, .cpu_mask = mask};
        struct morsel_session session;
        enum morsel_error error = morsel_session_open(&session, &shipped->model, shipped->arena, shipped->arena_bytes, &options);
        for (unsigned i = 0; i < PICTURES; i += few ? 4 : 1) {
            float scores[CLASSES];
            if (!error) error = scores_of(&session, i, scores);
            tally.compared++;
            if (!error && !memcmp(scores, answers[i], sizeof scores)) continue;
            fprintf(stderr, "FAIL picture %u by %s kernels: %s\n", i, set, error ? morsel_error_text(error) : "not ONNX Runtime's scores");
            tally.failed++;
        }
    }
    return tally;
}
