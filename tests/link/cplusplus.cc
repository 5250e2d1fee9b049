// SPDX-License-Identifier: MIT
// The header as C++ sees it, twice, and a call through it.
#include "morsel.h"
#include "morsel.h"

int main() {
    morsel_model model{};
    morsel_options options{};
    options.size = sizeof options;
    options.tasks = 1;
    alignas(MORSEL_ALIGNMENT) static const unsigned char nothing[64] = {};
    const morsel_error error = morsel_open(&model, nothing, sizeof nothing, MORSEL_SKIP_CHECKSUM);
    return error != MORSEL_OK && morsel_error_text(error)[0] && morsel_version()[0] && options.tasks == 1 ? 0 : 1;
}
