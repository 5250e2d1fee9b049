/* SPDX-License-Identifier: MIT */
/* One function a verb: argv[0] is the verb's name; the exit status comes back (0 done, 1 input, 2 call, 3 system). */
#ifndef MORSEL_TOOLS_VERBS_VERBS_H
#define MORSEL_TOOLS_VERBS_VERBS_H

int verb_convert(int argc, char **argv);
int verb_quantize(int argc, char **argv);
int verb_run(int argc, char **argv);
int verb_bench(int argc, char **argv);
int verb_eval(int argc, char **argv);
int verb_embed(int argc, char **argv);
int verb_inspect(int argc, char **argv);
int verb_compare(int argc, char **argv);
int verb_report(int argc, char **argv);
int verb_edit(int argc, char **argv);

#endif
