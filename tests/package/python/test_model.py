# SPDX-License-Identifier: MIT
"""Networks in Python: answers as ONNX Runtime recorded them, arrays that do not fit, threads, and what lives how long."""
import gc
import os
import pickle
import tempfile
import threading
import unittest

import morsel
import numpy as np
from support import PICTURES, SHIPPED, at, case, cases, pixels

BYTES_IN = "several-qdq-u8s8pc-byteio"


def noise(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)



def checksum(words):
    """That of core/checksum.c, of a blob of whole blocks whose own word is 0."""
    def mix(lane, word):
        lane = lane ^ word
        return (lane ^ lane >> np.uint32(15)) * np.uint32(0x00201001)

    with np.errstate(over="ignore"):
        lanes, total = np.arange(1, 17, dtype=np.uint32) * np.uint32(0x85EBCA6B), mix(np.uint32(0), np.uint32(4 * words.size))
        for block in words.reshape(-1, 16):
            lanes = mix(lanes, block)
        for lane in lanes:
            total = mix(total, lane)
        return total ^ total >> np.uint32(16)


class Answers(unittest.TestCase):
    def same(self, have, want):
        self.assertEqual(len(have), len(want))
        for a, b in zip(have, want):
            self.assertEqual((a.dtype, a.shape, a.tobytes()), (b.dtype, b.shape, b.tobytes()))

    def test_recorded_answers_come_byte_for_byte(self):
        for name in cases():
            with self.subTest(name):
                blob, inputs, outputs = case(name)
                model = morsel.Model(blob)
                self.same(model.run(inputs), outputs)
                self.same(morsel.Session(model).run(inputs, copy=False), outputs)
                self.same(model.run({t.name: x for t, x in zip(model.inputs, inputs)}), outputs)

    def test_several_runs_are_stacked(self):
        model = morsel.Model(SHIPPED)
        x = noise(3, 3, 32, 32)
        apart = [model.run(x[i : i + 1])[0] for i in range(3)]
        self.same(model.run(x), [np.concatenate(apart)])

    def test_arrays_of_other_layouts_and_types_give_the_same(self):
        model = morsel.Model(SHIPPED)
        x = noise(1, 3, 32, 32)
        want = model.run(x)
        wide = np.zeros((1, 3, 32, 64), np.float32)
        wide[..., ::2] = x
        odd = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape)
        for other in (np.asfortranarray(x), wide[..., ::2], x.astype(np.float64), x.astype(">f4"), odd, [x], (x,), {"input": x}):
            self.same(model.run(other), want)

    def test_threads_and_kernels_do_not_change_bytes(self):
        model = morsel.Model(SHIPPED)
        x = noise(2, 3, 32, 32)
        want = model.run(x)
        self.same(morsel.Session(model, threads=3).run(x), want)
        self.same(morsel.Session(model, cpu="c").run(x), want)

    def test_tensors_lie_in_the_arena(self):
        blob, inputs, outputs = case(BYTES_IN)
        session = morsel.Session(morsel.Model(blob))
        for i, array in enumerate(inputs):
            self.assertEqual(session.input(i).shape, array.shape)
            session.input(i)[...] = array
        session.run_in_place()
        self.same([session.output(i) for i in range(len(outputs))], outputs)
        self.same([session.output(t.name) for t in session.model.outputs], outputs)
        self.assertFalse(session.output(0).flags.owndata)

    def test_a_channels_last_tensor_is_seen_as_the_graph_has_it(self):
        session = morsel.Session(morsel.Model(SHIPPED))
        x = noise(1, 3, 32, 32)
        want = session.run(x)
        t = session.model.inputs[0]
        session.input(0)[...] = np.clip(np.rint(x / np.float32(t.scale)) + t.zero_point, 0, 255)
        session.run_in_place()
        self.assertEqual(session.output(0).tobytes(), want[0].tobytes())


class Refusals(unittest.TestCase):
    def test_arrays_that_do_not_fit_are_refused(self):
        model = morsel.Model(SHIPPED)
        for shape in ((3, 32, 32), (1, 32, 32, 3), (0, 3, 32, 32), (1, 3, 32, 31), ()):
            with self.assertRaisesRegex(ValueError, r"\[1, 3, 32, 32\]"):
                model.run(np.zeros(shape, np.float32))
        for kind in (np.complex64, "S1", object):
            with self.assertRaisesRegex(TypeError, "float32"):
                model.run(np.zeros((1, 3, 32, 32), kind))

    def test_inputs_of_other_names_and_numbers_are_refused(self):
        blob, inputs, _ = case(BYTES_IN)
        model = morsel.Model(blob)
        for wrong in (inputs[:-1], [*inputs, inputs[0]], {"nobody": inputs[0]}, {}):
            with self.assertRaises(ValueError):
                model.run(wrong)
        longer = [np.concatenate([inputs[0]] * 2), *inputs[1:]]
        if len(inputs) > 1:
            with self.assertRaisesRegex(ValueError, "several numbers of runs"):
                model.run(longer)

    def test_integers_beyond_their_type_are_refused(self):
        blob, inputs, outputs = case(BYTES_IN)
        model = morsel.Model(blob)
        wide = [x.astype(np.int64) for x in inputs]
        self.assertEqual(model.run(wide)[0].tobytes(), outputs[0].tobytes())
        for value in (300, -200, 1 << 40):
            wide[0][...] = value
            with self.assertRaisesRegex(ValueError, "does not fit"):
                model.run(wide)
        with self.assertRaises(TypeError):
            model.run([x.astype(np.float32) for x in inputs])

    def test_a_number_is_no_path(self):
        with tempfile.TemporaryFile() as file:
            for wrong in (file.fileno(), None, 3.5):
                with self.assertRaises(TypeError):
                    morsel.Model(wrong)
            os.fstat(file.fileno())  # it is open as before

    def test_damaged_blobs_are_refused_in_the_librarys_words(self):
        with open(SHIPPED, "rb") as file:
            good = file.read()
        flipped = bytearray(good)
        flipped[-1] ^= 1
        for bad, words in ((b"", "fewer bytes"), (good[:1000], "fewer bytes"), (b"x" + good[1:], "Morsel"), (flipped, "checksum")):
            with self.assertRaisesRegex(morsel.Error, words) as caught:
                morsel.Model(bytes(bad))
            self.assertNotEqual(caught.exception.code, 0)
        with self.assertRaises(FileNotFoundError):
            morsel.Model("no such file")
        with tempfile.NamedTemporaryFile() as file:
            file.write(good[:1000])
            file.flush()
            for mapped in (False, True):
                with self.assertRaisesRegex(morsel.Error, file.name):
                    morsel.Model(file.name, map_file=mapped)

    def test_labels_that_share_bytes_are_refused(self):
        """Labels that are all the same megabyte would be 16 GB."""
        with open(SHIPPED, "rb") as file:
            bytes_ = bytearray(file.read())
        many, length = 1 << 14, 1 << 20
        bytes_ += bytes(-len(bytes_) % 64)
        strings, labels = len(bytes_), len(bytes_) + length
        bytes_ += b"\0" + b"a" * (length - 2) + b"\0" + np.ones(many, np.uint32).tobytes()
        words = np.frombuffer(bytes_, np.uint32)
        words[3], words[4] = len(bytes_), 0
        words[22:26] = labels, many, strings, length  # sections of the header in core/format.h
        words[4] = checksum(words)
        with self.assertRaisesRegex(morsel.Error, "share bytes"):
            morsel.Model(bytes(bytes_))

    def test_sessions_that_cannot_be_are_refused(self):
        model = morsel.Model(SHIPPED)
        for wrong in ({"threads": 0}, {"threads": 1000}, {"cpu": "abacus"}):
            with self.assertRaises(ValueError):
                morsel.Session(model, **wrong)
        with self.assertRaises(TypeError):
            pickle.dumps(morsel.Session(model))


class Lives(unittest.TestCase):
    def test_a_session_keeps_what_it_stands_on(self):
        want = morsel.Model(SHIPPED).run(noise(1, 3, 32, 32))[0].tobytes()
        for mapped in (False, True):
            session = morsel.Session(morsel.Model(SHIPPED, map_file=mapped), threads=2)
            gc.collect()
            litter = [np.full(1 << 20, 255, np.uint8) for _ in range(8)]
            self.assertEqual(session.run(noise(1, 3, 32, 32))[0].tobytes(), want)
            seen = session.run(noise(1, 3, 32, 32), copy=False)[0]
            del session, litter
            gc.collect()
            litter = [np.full(seen.base.size, 255, np.uint8) for _ in range(64)]
            self.assertEqual(seen.tobytes(), want)

    def test_a_session_outlives_what_becomes_of_its_model(self):
        with open(SHIPPED, "rb") as file:
            blob = file.read()
        model = morsel.Model(blob)
        session = morsel.Session(model)
        x = np.ones((1, 3, 32, 32), np.float32)
        before = session.run(x)[0]
        morsel.Model.__init__(model, blob)  # another one takes the object's place
        gc.collect()
        used = [bytearray(len(blob) + i) for i in range(8)]  # what was let go would be written over
        np.testing.assert_array_equal(before, session.run(x)[0])
        self.assertEqual(len(used), 8)

    def test_the_bytes_of_a_model_may_change_behind_it(self):
        with open(SHIPPED, "rb") as file:
            data = bytearray(file.read())
        model = morsel.Model(data)
        want = morsel.Model(SHIPPED).run(noise(1, 3, 32, 32))[0].tobytes()
        data[:] = bytes(len(data))
        self.assertEqual(model.run(noise(1, 3, 32, 32))[0].tobytes(), want)
        self.assertEqual(pickle.loads(pickle.dumps(model)).run(noise(1, 3, 32, 32))[0].tobytes(), want)

    def test_a_model_travels_to_another_process(self):
        with open(SHIPPED, "rb") as file:
            data = file.read()
        want = morsel.Model(SHIPPED).run(noise(1, 3, 32, 32))[0].tobytes()
        for source in (SHIPPED, data, memoryview(data)):
            other = pickle.loads(pickle.dumps(morsel.Model(source)))
            self.assertEqual(other.run(noise(1, 3, 32, 32))[0].tobytes(), want)


class Threads(unittest.TestCase):
    def test_threads_share_a_model(self):
        model = morsel.Model(SHIPPED)
        inputs = [noise(1, 3, 32, 32, seed=i) for i in range(32)]
        want = [morsel.Session(model).run(x)[0].tobytes() for x in inputs]
        have = [None] * len(inputs)
        barrier = threading.Barrier(4)

        def work(first):
            barrier.wait()
            for i in range(first, len(inputs), 4):
                have[i] = model.run(inputs[i])[0].tobytes()

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(have, want)

    def test_a_session_in_use_is_refused_to_others(self):
        session = morsel.Session(morsel.Model(SHIPPED))
        caught = []

        def other():
            for call in (lambda: session.run(noise(1, 3, 32, 32)), session.run_in_place, lambda: session.classify(pixels(PICTURES[0]))):
                try:
                    call()
                except morsel.Error as error:
                    caught.append(str(error))

        with session._turn:  # as a run that lasts
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
        self.assertEqual(len(caught), 3)
        self.assertIn("another thread", caught[0])
        session.run(noise(1, 3, 32, 32))


class Facts(unittest.TestCase):
    def test_a_model_says_what_it_is(self):
        model = morsel.Model(SHIPPED)
        with open(at("models/cifar10/labels.txt"), encoding="utf-8") as file:
            self.assertEqual(model.labels, file.read().split())
        report = morsel.tool("inspect", SHIPPED)
        self.assertEqual((model.name, model.arena_bytes), (report["name"], report["arena_bytes"]))
        self.assertEqual([t.shape for t in model.inputs], [(1, 3, 32, 32)])
        self.assertGreater(model.work, report["macs"])
        self.assertIn("float32[1, 3, 32, 32]", repr(model))


if __name__ == "__main__":
    unittest.main()
