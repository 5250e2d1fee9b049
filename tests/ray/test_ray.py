# SPDX-License-Identifier: MIT
"""morsel.ray on a cluster of this machine: answers are those of one process, and where an actor is killed none is lost or given twice.

run.sh runs it by tests/package/python/run.py.
"""
import glob
import io
import json
import os
import signal
import sys
import tempfile
import threading
import time
import unittest

import morsel
import morsel.ray
import numpy as np
import pyarrow
import pyarrow.parquet
import ray
from PIL import Image

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tools/package/python"))
import classify_on_ray  # noqa: E402
SHIPPED = os.path.join(ROOT, "models/cifar10/network.morsel")
PICTURES = sorted(glob.glob(os.path.join(ROOT, "models/cifar10/pictures/*.ppm")))


class Told(morsel.ray.Classifier):
    """Tells who it is, by a file, and how often each row was begun; and takes its time."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.folder = self.options["folder"]
        open(os.path.join(self.folder, f"worker-{os.getpid()}"), "w").close()

    def __call__(self, batch):
        begun = os.path.join(self.folder, f"batch-{os.getpid()}-{time.monotonic_ns()}")
        with open(begun, "w", encoding="utf-8") as file:
            json.dump([int(row) for row in batch["row"]], file)
        time.sleep(self.options["pause"])
        return super().__call__(batch)


class Killer(threading.Thread):
    """Kills one of two actors while it has a batch, once both have begun some."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.folder, self.killed = folder, None

    def run(self):
        for _ in range(6000):
            time.sleep(0.02)
            batches = sorted(glob.glob(os.path.join(self.folder, "batch-*")), key=lambda path: int(path.rsplit("-", 1)[1]))
            begun = [int(os.path.basename(path).split("-")[1]) for path in batches]
            if len(set(begun)) == 2 and len(begun) >= 8:
                self.killed = begun[-1]
                os.kill(self.killed, signal.SIGKILL)
                return


def pictures():
    return [np.asarray(Image.open(path).convert("RGB")) for path in PICTURES]


def table(rows):
    """Rows with a picture each, all different."""
    given = pictures()
    images = np.stack([np.roll(given[row % len(given)], row, axis=1) for row in range(rows)])
    return images, ray.data.from_items([{"row": row, "image": images[row]} for row in range(rows)], override_num_blocks=16)


class Cluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, configure_logging=False)
        ray.data.DataContext.get_current().enable_progress_bars = False
        cls.model = morsel.Model(SHIPPED)

    @classmethod
    def tearDownClass(cls):
        ray.shutdown()

    def same(self, rows, images):
        self.assertEqual(sorted(row["row"] for row in rows), list(range(len(images))))  # none is lost, none is there twice
        for row in rows:
            best = self.model.classify(images[row["row"]], 1)[0]
            self.assertEqual((row["label"], row["index"], np.float32(row["p"])), (best.label, best.index, np.float32(best.p)))

    def test_answers_are_those_of_one_process(self):
        images, dataset = table(200)
        rows = morsel.ray.classify(dataset, SHIPPED, batch_size=16).take_all()
        self.assertNotIn("image", rows[0])
        self.same(rows, images)

    def test_a_killed_actor_loses_nothing_and_gives_nothing_twice(self):
        images, dataset = table(480)
        with tempfile.TemporaryDirectory() as folder:
            answered = morsel.ray.run(dataset, Told, SHIPPED, "image", actors=2, batch_size=10, top=1, folder=folder, pause=0.3)
            killer = Killer(folder)
            killer.start()
            answered.write_parquet(os.path.join(folder, "answers"))  # what is written, not only what is told
            killer.join()
            rows = ray.data.read_parquet(os.path.join(folder, "answers")).take_all()
            self.assertTrue(killer.killed)
            self.same(rows, images)
            begun = []
            for path in glob.glob(os.path.join(folder, "batch-*")):
                with open(path, encoding="utf-8") as file:
                    begun += json.load(file)
            workers = glob.glob(os.path.join(folder, "worker-*"))
        self.assertEqual(set(begun), set(range(480)))
        self.assertGreater(len(begun), 480)  # what the killed one had was begun anew
        print(f"   {len(begun) - 480} rows were begun again; {len(workers)} actors in all")

    def test_a_folder_and_parquet_of_pictures(self):
        with tempfile.TemporaryDirectory() as folder:
            files, data = [], []
            for path in PICTURES:
                files.append(os.path.join(folder, os.path.basename(path)[:-4] + ".png"))
                Image.open(path).save(files[-1])
                with open(files[-1], "rb") as file:
                    data.append(file.read())
            rows = morsel.ray.classify(ray.data.read_images(folder, include_paths=True), SHIPPED).take_all()
            want = {os.path.basename(f): self.model.classify(x, 1)[0].label for f, x in zip(files, pictures())}
            self.assertEqual({os.path.basename(row["path"]): row["label"] for row in rows}, want)
            pyarrow.parquet.write_table(pyarrow.table({"name": [os.path.basename(f) for f in files], "image": data}), folder + "/p.parquet")
            classify_on_ray.main([folder + "/p.parquet", SHIPPED, folder + "/answers", "--parquet", "image", "--top", "2"])
            back = ray.data.read_parquet(folder + "/answers").take_all()
            self.assertEqual({row["name"]: row["label"][0] for row in back}, want)
            self.assertEqual({len(row["p"]) for row in back}, {2})
            classify_on_ray.main([folder, SHIPPED, folder + "/table", "--csv"])
            back = ray.data.read_csv(folder + "/table").take_all()
            self.assertEqual({os.path.basename(row["path"]): row["label"] for row in back}, want)

    def test_boxes_are_json(self):
        spots = os.path.join(ROOT, "models/spots")
        blob = morsel.quantize(f"{spots}/network.onnx", f"{spots}/pictures", picture=f"{spots}/picture.json", answer=f"{spots}/answer.json")
        image = Image.open(f"{spots}/pictures/spots.ppm")
        data = io.BytesIO()
        image.save(data, "PNG")
        rows = morsel.ray.detect(ray.data.from_items([{"image": data.getvalue()}]), blob, keep=True).take_all()
        self.assertEqual(rows[0]["image"], data.getvalue())
        want = [(box.index, box.p) for box in morsel.Model(blob).detect(image)]
        self.assertEqual([(box["index"], box["p"]) for box in json.loads(rows[0]["boxes"])], want)

    def test_what_is_no_blob_is_refused_at_once(self):
        with self.assertRaises(morsel.Error):
            morsel.ray.classify(table(1)[1], b"x" * 1000)

    def test_actors_read_the_blob_where_it_lies(self):
        with open(SHIPPED, "rb") as file:
            blob = ray.get(ray.put(np.frombuffer(file.read(), np.uint8)))
        model = morsel.Model._over(blob)
        self.assertEqual(model._blob.ctypes.data, blob.ctypes.data)
        with self.assertRaises(ValueError):
            blob[0] = 0
