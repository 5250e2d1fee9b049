# SPDX-License-Identifier: MIT
"""What was found about mutants, so that a run that is stopped goes on where it was: build/mutants/record/FILE, a line of JSON a mutant.

A line holds for one text of the file. "killed" holds as long as the source of the program that killed it is what it was, and "survived" is
asked again, but where equal.txt proves the mutant equal.
"""
import hashlib
import json
import pathlib
import threading


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:20]


class Record:
    def __init__(self, folder, source, text, fresh):
        self.path, self.text, self.lock, self.found, self.sources = folder / source.replace("/", "-"), digest(text), threading.Lock(), {}, {}
        folder.mkdir(parents=True, exist_ok=True)
        lines = self.path.read_text().splitlines() if self.path.exists() and not fresh else []
        kept = [line for line in lines if line.endswith("]") and json.loads(line)[0] == self.text]
        for line in kept:
            _, mutant, verdict, killer, state = json.loads(line)
            self.found[tuple(mutant)] = verdict, killer, state
        self.path.write_text("".join(line + "\n" for line in kept))

    def state(self, killer):
        """Of the source of a program, or of all in its folder; None where there is neither."""
        if killer and killer not in self.sources:
            path = pathlib.Path(killer)
            texts = [p.read_text() for p in ([path] if path.exists() else sorted(path.parent.glob("*.[ch]")))]
            self.sources[killer] = digest("".join(texts)) if texts else None
        return self.sources.get(killer)

    def get(self, mutant, proven):
        """The verdict on a mutant, None where it must be tried."""
        verdict, killer, state = self.found.get(tuple(mutant), (None, None, None))
        if verdict == "killed" and (not state or self.state(killer) != state):
            return None
        return None if verdict == "survived" and not proven else verdict

    def put(self, mutant, verdict, killer):
        with self.lock, self.path.open("a") as f:
            f.write(json.dumps([self.text, list(mutant), verdict, killer, self.state(killer)]) + "\n")
