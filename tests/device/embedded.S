/* SPDX-License-Identifier: MIT */
/* The shipped network and its pictures, as they lie in models/cifar10, inside the program. */
    .section .rodata
    .macro embed name:req, path:req
    .balign 64
    .globl \name
\name:
    .incbin "\path"
    .globl \name\()_end
\name\()_end:
    .endm

    embed device_network, "models/cifar10/network.morsel"
    embed device_airplane, "models/cifar10/pictures/airplane.ppm"
    embed device_automobile, "models/cifar10/pictures/automobile.ppm"
    embed device_bird, "models/cifar10/pictures/bird.ppm"
    embed device_cat, "models/cifar10/pictures/cat.ppm"
    embed device_deer, "models/cifar10/pictures/deer.ppm"
    embed device_dog, "models/cifar10/pictures/dog.ppm"
    embed device_frog, "models/cifar10/pictures/frog.ppm"
    embed device_horse, "models/cifar10/pictures/horse.ppm"
    embed device_ship, "models/cifar10/pictures/ship.ppm"
    embed device_truck, "models/cifar10/pictures/truck.ppm"

    .section .note.GNU-stack, "", %progbits
