/* SPDX-License-Identifier: MIT */
/* The rules of a blob that only those read who ask for them: how a text goes in, and what the outputs mean. A part of format.h. */
#ifndef MORSEL_FORMAT_RULES_H
#define MORSEL_FORMAT_RULES_H

#include <stdint.h>

enum morsel_text_action {
    MORSEL_TEXT_KEEP = 0,   /* stays; value: its order among combining characters, 0 for all others */
    MORSEL_TEXT_DROP = 1,   /* goes; value 1: combining characters are not sorted across it */
    MORSEL_TEXT_SPACE = 2,  /* ends a word */
    MORSEL_TEXT_SHIFT = 3,  /* code point + value, 24 bits with a sign */
    MORSEL_TEXT_NEXT = 4,   /* the next code point, where its lowest bit is not that of value; else it stays */
    MORSEL_TEXT_LIST = 5,   /* value >> 16 code points, from the (value & 0xffff)th of `points` on */
    MORSEL_TEXT_HANGUL = 6, /* a syllable's two or three parts */
};
#define MORSEL_TEXT_ALONE 8u        /* beside an action: the result is a word by itself */
#define MORSEL_TEXT_NO_INPUT ~0u    /* in `inputs` */
#define MORSEL_TEXT_WORD_MOST 100u  /* of word_points */
#define MORSEL_TEXT_TOKEN_MOST 400u /* bytes of a token; nobody looks for what is longer */
#define MORSEL_TEXT_STEPS_MOST 400u /* bytes of tokens that are looked at for a byte of text; a word that takes more is unknown */
#define MORSEL_TEXT_AROUND_MOST 8u  /* of front + back */
#define MORSEL_TEXT_LENGTH_MOST 65536u

/*
 * The text rule: BERT's normalization and WordPiece. This record, then
 *     starts   [ranges]      code points, ascending, from 0 on: where a range of them begins
 *     actions  [ranges]      what becomes of each: enum morsel_text_action | MORSEL_TEXT_ALONE | value << 8
 *     points   [points]      code point | order << 24
 *     begins   [tokens + 1]  where each token begins in `strings`, and where the last ends
 *     ids      [tokens]
 *     strings  [strings]     bytes, padded to a whole word of 32 bits
 * Tokens are UTF-8, in three groups, each in the order of their bytes: those found in the text as it stands ([SEP]); those that
 * begin a word; those that go on in one, without the ## of a vocabulary. Opening a blob looks at none of it: whoever reads does.
 */
struct morsel_blob_text {
    uint32_t inputs[3];                       /* indices: token ids, attention mask, token types */
    uint32_t max_length;                      /* tokens, those around included */
    uint32_t id_count;                        /* ids are below */
    uint32_t unknown;                         /* the id of a word that no tokens make up */
    uint32_t padding;                         /* the id behind the last token */
    uint32_t word_points;                     /* a longer word is unknown */
    uint32_t front, back;                     /* how many ids stand in front of a text, and behind it */
    uint32_t around[MORSEL_TEXT_AROUND_MOST]; /* those in front, then those behind */
    uint32_t ranges, points, strings;         /* counts: see above */
    uint32_t special, first, next;            /* tokens of each group */
};

/* How outputs hold what is told of them. Of a detector it is a line of numbers for each candidate, in one output or in two. */
enum morsel_head {
    MORSEL_HEAD_YOLOV5 = 1,     /* centre x, centre y, width, height, whether there is anything, scores; anchors as of SSD */
    MORSEL_HEAD_YOLOV8 = 2,     /* centre x, centre y, width, height, scores */
    MORSEL_HEAD_YOLOV10 = 3,    /* x0, y0, x1, y1, score, class */
    MORSEL_HEAD_SSD = 4,        /* x0, y0, x1, y1, scores; with anchors how the centre moves, and the logarithm of how the sides grow */
    MORSEL_HEAD_SCORES = 5,     /* of a segmentation: a map of scores for each class */
    MORSEL_HEAD_INDICES = 6,    /* of a segmentation: one map of classes' numbers */
    MORSEL_HEAD_HEATMAPS = 7,   /* of points: a map for each, which is highest where the point is */
    MORSEL_HEAD_COORDINATES = 8 /* of points: x, y of each, or x, y, p */
};

/* Candidates are columns: an output is [numbers, candidates], and not [candidates, numbers]. Of maps: it is [channels, height, width], and
 * not [height, width, channels]. */
#define MORSEL_ANSWER_COLUMNS 1u
#define MORSEL_ANSWER_SIGMOID 2u     /* scores become p by it */
#define MORSEL_ANSWER_SOFTMAX 4u     /* or by this one, over all classes */
#define MORSEL_ANSWER_BACKGROUND 8u  /* class 0 is none */
#define MORSEL_ANSWER_Y_FIRST 16u    /* y0, x0, y1, x1; of anchors, too */
#define MORSEL_ANSWER_NEAREST 32u    /* maps: a pixel has the class of the cell that it lies in; else scores are interpolated */
#define MORSEL_ANSWER_QUARTER 64u    /* heat maps: a point stands a quarter of a cell from the highest one, towards the higher neighbour */
#define MORSEL_ANSWER_CENTRE 128u    /* heat maps: a cell stands for its centre, not for its top left corner */
#define MORSEL_ANSWER_NORMALIZE 256u /* of an embedding: it is divided by its length */
#define MORSEL_ANSWER_DISTANCES 512u /* with anchors: numbers are how far the sides are from the centre */
#define MORSEL_ANSWER_FLAGS 1023u
#define MORSEL_ANSWER_MOST 65536u     /* of `most` */
#define MORSEL_ANSWER_MAP_SIDE 32768u /* of a map's height and width */

/*
 * The answer rule: this record, and behind it float[anchors][4], of which nothing is asked. An output of a detector is [candidates,
 * numbers], or one of these for each image of a batch. Its channels, where they are last in memory, are the last dimension but one.
 *
 * Candidate i has the class of its largest score, the first of equal ones. p is that score, and of YOLOv5 times the one before it. Of an
 * anchor (centre x, centre y, width, height) and the numbers d of a candidate it makes
 *     centre = anchor's centre + d * variance[0] * anchor's side,   side = anchor's side * exp(d * variance[1])
 * or with DISTANCES a box whose left, top, right and bottom are d * variance[0] * anchor's side from the anchor's centre.
 *
 * Maps are [images, channels, height, width], [images, height, width, channels], or of one channel [images, height, width]. Channels, where
 * they are last in memory, are the dimension behind the images. A segmentation has `classes` channels, or of INDICES one.
 *
 * Classes are [images, classes], with any 1 behind, or [classes]. Of a SOFTMAX a NaN among the scores leaves nothing to tell.
 *
 * An embedding is all of an output, or of rank 2 and more one for each of its first dimension.
 *
 * Points are `classes` heat maps, of which each point has its highest cell, the first of equal ones. Or they are [images, points, numbers],
 * [images, numbers, points] with COLUMNS, with any 1 behind the images, or [images, points * numbers]; numbers are 2 or 3.
 */
struct morsel_blob_answer {
    uint32_t kind;    /* enum morsel_answer */
    uint32_t head;    /* enum morsel_head: DETECTIONS YOLOV5..SSD, SEGMENTATION SCORES or INDICES, POINTS the last two; else 0 */
    uint32_t flags;   /* MORSEL_ANSWER_ */
    uint32_t output;  /* index into outputs; of detections the one with the boxes */
    uint32_t scores;  /* index of the output with the scores: the same, or another one that has them alone. YOLOV8 and SSD */
    uint32_t classes; /* how many scores; YOLOV10, INDICES: classes are below. SEGMENTATION: 1..MORSEL_NO_CLASS; POINTS: how many */
    uint32_t anchors; /* 0, or SSD and YOLOV5: one for each candidate */
    uint32_t most;    /* how many are told at most: 1..MORSEL_ANSWER_MOST */
    float threshold;  /* those whose p is less are not told. Of classes and points 0 tells all. Of one score a pixel class 1 begins at it */
    float iou;        /* of two of a class that share more of their union than this the better one is told; 1: both are */
    float scale[2];   /* x and y times these are pixels of the input */
    float variance[2];
};

#endif
