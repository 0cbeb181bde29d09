package io.hvd.examples.image;

import io.hvd.Hvd;
import io.hvd.HvdContext;

/** The program of each rank of {@link ResumedCifarIT}: the CIFAR-10 training with the flags that it is given. */
final class ResumedCifar {
    private ResumedCifar() {}

    public static void main(String[] args) throws Exception {
        CifarOptions options = CifarOptionsTest.parse(String.join(" ", args));
        try (HvdContext hvd = Hvd.init()) {
            new CifarTraining(hvd, options, CifarExample.images(options)).run();
        }
    }
}
