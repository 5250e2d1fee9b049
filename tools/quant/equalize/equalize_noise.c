/* SPDX-License-Identifier: MIT */
/*
 * Rounding to steps of D adds noise of D^2 / 12. Of a value that is D = range / 255 in every channel (and what clipping adds), which counts
 * D / factor in what the channel stood for; of weights D = largest / 127 by output, in front of inputs that are larger by the factor.
 */
#include "tools/quant/equalize/equalize_parts.h"
#include "tools/base/arena.h"

#include <math.h>
#include <stdlib.h>

struct range equal_range(const struct observed *seen, uint32_t channel) {
    if (seen->channel_low[channel] == seen->channel_high[channel])
        return (struct range){seen->channel_low[channel], seen->channel_high[channel]};
    return range_of_channel(seen, channel, RANGE_PERCENTILE, 99.5, false, 256);
}

/*
 * The mean squared error of a value's bytes. Sums are spread much alike in all channels, and what lies beyond
 * equal_range() of them comes by chance. Rectified channels are near 0 in most pictures and large in few: their
 * histograms say how far their range has to reach.
 */
static double value_error(const struct equal_group *group, const struct observed *seen, const struct scheme_options *options,
                          const double *factors, const double *shifts) {
    double low = 0, high = 0;
    if (group->rectified && !shifts) return equal_error(group, seen, factors, options->symmetric);
    for (uint32_t c = 0; c < group->channels; c++) {
        struct range range = equal_range(seen, c);
        low = fmin(low, ((double)range.low + (shifts ? shifts[c] : 0)) * factors[c]);
        high = fmax(high, ((double)range.high + (shifts ? shifts[c] : 0)) * factors[c]);
    }
    double step = (options->symmetric ? 2 * fmax(high, -low) : high - low) / 255;
    return step * step / 12;
}

/* noise[c] += of a value's bytes, in what channel c stood for. */
static void add_value_noise(const struct equal_group *group, const struct observed *seen, const struct scheme_options *options,
                            const double *factors, const double *shifts, double *noise) {
    double error = value_error(group, seen, options, factors, shifts);
    for (uint32_t c = 0; c < group->channels; c++) noise[c] += error / (factors[c] * factors[c]);
}

/* The largest weight of each output (of all, in [0], where there is one scale), out_factors and in_factors applied (NULL: 1). */
static void largest_weights(const struct linear *l, const double *out, const double *in, bool one, double *largest) {
    const float *w = l->weights->data;
    for (int64_t o = 0; o < l->out_channels; o++) largest[o] = 0;
    for (size_t e = 0; e < l->weights->count; e++) {
        int64_t i, o;
        linear_place(l, (int64_t)e, &i, &o);
        double size = fabs((double)w[e]) * (out ? out[o] : 1) / (in ? in[i] : 1);
        largest[one ? 0 : o] = fmax(largest[one ? 0 : o], size);
    }
    for (int64_t o = 1; one && o < l->out_channels; o++) largest[o] = largest[0];
}

/*
 * Weights in one scale: those of the producers are rounded more coarsely, too, the larger the factors. The power of what goes in, times
 * the weights' squares, is the power that comes out; times a step's noise, for each weight of a channel, it is the channel's noise.
 */
static void add_producer_noise(const struct equal_group *group, const struct linear *l, const double *factors, double *noise,
                               double *largest) {
    const float *w = l->weights->data;
    double squares = 0, power = 0;
    for (size_t e = 0; e < l->weights->count; e++) squares += (double)w[e] * (double)w[e];
    for (uint32_t c = 0; c < group->channels; c++) power += group->members[0]->channel_square[c];
    largest_weights(l, factors, NULL, true, largest);
    double step = largest[0] / 127, a_channel = (double)l->weights->count / (double)group->channels;
    for (uint32_t c = 0; squares > 0 && c < group->channels; c++)
        noise[c] += step * step / 12 * a_channel * (power / squares) / (factors[c] * factors[c]);
}

/* What a reader's output carries of it, relative to its power; channels one by one where it does not mix them. */
static double reader_noise(const struct linear *l, const struct observed *x, const double *factors, const double *noise, bool one,
                           double *largest) {
    const float *w = l->weights->data;
    bool apart = l->groups == l->in_channels && l->inner == 1;
    double *power = must_calloc((size_t)l->out_channels * 2, sizeof *power), sum = 0, all = 0, total = 0;
    double *carried = power + l->out_channels;
    largest_weights(l, NULL, factors, one, largest);
    for (size_t e = 0; e < l->weights->count; e++) {
        int64_t i, o;
        linear_place(l, (int64_t)e, &i, &o);
        double square = (double)w[e] * (double)w[e], step = largest[o] / 127, variance = x->channel_square[i];
        power[o] += square * variance;
        carried[o] += square * noise[i] + step * step / 12 * variance * factors[i] * factors[i];
    }
    for (int64_t o = 0; o < l->out_channels; o++) {
        sum += carried[o];
        all += power[o];
        total += power[o] > 0 ? carried[o] / power[o] : 0;
    }
    free(power);
    return apart ? total / (double)l->out_channels : all > 0 ? sum / all : 0;
}

double equal_noise(const struct equal_group *group, const struct scheme_options *options, const double *factors, bool shifted) {
    int64_t most = group->channels;
    for (size_t i = 0; i < group->reader_count; i++) most = group->readers[i].out_channels > most ? group->readers[i].out_channels : most;
    double *noise = must_calloc((size_t)group->channels + (size_t)most, sizeof *noise), sum = 0;
    double *largest = noise + group->channels;
    for (size_t i = 0; i < group->member_count; i++)
        add_value_noise(group, group->members[i], options, factors, shifted ? group->member_shifts[i] : NULL, noise);
    for (size_t i = 0; options->per_tensor && i < group->producer_count; i++)
        add_producer_noise(group, &group->producers[i], factors, noise, largest);
    for (size_t i = 0; i < group->reader_count; i++)
        sum += reader_noise(&group->readers[i], group->read[i], factors, noise, options->per_tensor, largest);
    free(noise);
    return sum;
}
