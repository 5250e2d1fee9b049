# SPDX-License-Identifier: MIT
"""torchvision_nets.py FOLDER [NAME ...]: torchvision's families as float ONNX files, each made once, with seeded random weights.

Some batches in training mode first give the batch norms the statistics of these weights, so that activations stay in range.
NAME is a key of NETS; NAME-qat.onnx is the network with torch's fake quantization, as training with it would export it."""
import os
import sys

import torch
import torchvision
from torch import nn

M = torchvision.models


class Dense(nn.Module):
    """A network of segmentation, which answers by a dictionary: its main output."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x)["out"]


class Detector(nn.Module):
    """A detector from the picture to what its heads say of each box, before boxes are chosen."""

    def __init__(self, net):
        super().__init__()
        self.backbone, self.head = net.backbone, net.head

    def forward(self, x):
        out = self.head(list(self.backbone(x).values()))
        return out["cls_logits"], out["bbox_regression"]


class Pyramid(nn.Module):
    """A ResNet below a feature pyramid: nearest upsampling and sums."""

    def __init__(self):
        super().__init__()
        self.net = M.detection.backbone_utils.resnet_fpn_backbone("resnet18", weights=None, trainable_layers=5, norm_layer=nn.BatchNorm2d)

    def forward(self, x):
        return tuple(self.net(x).values())


def plain(name, **options):
    return lambda: getattr(M, name)(weights=None, **options)


def dense(name):
    return lambda: Dense(getattr(M.segmentation, name)(weights=None, weights_backbone=None))


def detector(name):
    return lambda: Detector(getattr(M.detection, name)(weights=None, weights_backbone=None))


def nets():
    found = {}
    for name in ("resnet18 mobilenet_v3_small mobilenet_v3_large efficientnet_b0 shufflenet_v2_x1_0 squeezenet1_1 densenet121 mnasnet1_0 "
                 "regnet_y_400mf resnext50_32x4d mobilenet_v2 regnet_x_400mf convnext_tiny swin_t efficientnet_v2_s "
                 "resnet50 wide_resnet50_2 shufflenet_v2_x0_5 mnasnet0_5 squeezenet1_0 efficientnet_b1 regnet_y_800mf "
                 "densenet161 resnet34 shufflenet_v2_x2_0 regnet_x_1_6gf").split():
        found[name + "-128"] = (plain(name), 128)
    for name in ("googlenet", "inception_v3"):
        found[name + "-128"] = (plain(name, aux_logits=False, init_weights=False), 128)
    for name in "vit_b_16 vit_b_32 vgg11 vgg11_bn alexnet maxvit_t mobilenet_v2 mobilenet_v3_large efficientnet_b0 resnet50".split():
        found[name + "-224"] = (plain(name), 224)
    for name in ("deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large", "fcn_resnet50", "deeplabv3_resnet50"):
        found[name + "-128"] = (dense(name), 128)
    found["ssdlite320_mobilenet_v3_large-320"] = (detector("ssdlite320_mobilenet_v3_large"), 320)
    found["ssd300_vgg16-300"] = (detector("ssd300_vgg16"), 300)
    found["resnet18_fpn-128"] = (Pyramid, 128)
    for name in ("mobilenet_v2", "resnet18"):
        found[name + "-qat-128"] = (lambda name=name: fake_quantized(name), 128)
    return found


def pictures(count, side, seed):
    """Smooth noise with a little of the other kind, which has edges and areas as pictures have."""
    g = torch.Generator().manual_seed(seed)
    smooth = nn.functional.interpolate(torch.randn(count, 3, 8, 8, generator=g), size=(side, side), mode="bilinear", align_corners=False)
    return 1.2 * smooth + 0.3 * torch.randn(count, 3, side, side, generator=g)


def settle(net, side):
    """Batch norms average over what they see; weights of layers without one are left as they are initialized."""
    for m in net.modules():
        if isinstance(m, nn.modules.batchnorm._BatchNorm):
            m.momentum = None
    net.train()
    with torch.no_grad():
        for seed in range(3):
            net(pictures(4, side, seed))


def fake_quantized(name):
    """Scales are learnt from the same batches as the norms; weights by channel, activations of unsigned bytes."""
    net = getattr(M.quantization, name)(weights=None, quantize=False)
    settle(net, 128)
    net.train()
    net.fuse_model(is_qat=True)
    q = torch.ao.quantization
    bytes_of = q.FakeQuantize.with_args(observer=q.MovingAverageMinMaxObserver, quant_min=0, quant_max=255, reduce_range=False)
    net.qconfig = q.QConfig(activation=bytes_of, weight=q.default_per_channel_weight_fake_quant)
    q.prepare_qat(net, inplace=True)
    return net


def export(name, path):
    make, side = NETS[name]
    torch.manual_seed(1)
    net = make()
    settle(net, side)
    net.eval()
    if "-qat-" in name:
        net.apply(torch.ao.quantization.disable_observer)
    for m in net.modules():  # attention in one operator of torch alone cannot be exported; in training it is not used
        if isinstance(m, nn.MultiheadAttention):
            m.dropout, m.training = 0.0, True
    with torch.no_grad():
        torch.onnx.export(net, pictures(1, side, 9), path + ".part", opset_version=17, input_names=["input"],
                          training=torch.onnx.TrainingMode.PRESERVE)
    os.rename(path + ".part", path)


NETS = nets()

if __name__ == "__main__":
    status = 0
    for chosen in sys.argv[2:] or NETS:
        to = os.path.join(sys.argv[1], chosen, "float.onnx")
        if os.path.exists(to):
            continue
        os.makedirs(os.path.dirname(to), exist_ok=True)
        try:
            export(chosen, to)
        except Exception as error:  # one that cannot be exported is said, and the others are made
            print(f"{chosen}: not exported: {type(error).__name__}: {str(error).splitlines()[0]}", file=sys.stderr)
            status = 1
    sys.exit(status)
