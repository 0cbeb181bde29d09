package io.hvd.examples.djl;

import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Blocks;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.convolutional.Conv2d;
import ai.djl.nn.core.Linear;
import ai.djl.nn.pooling.Pool;

/** The net of Horovod's MNIST example without its dropout, which would draw other numbers for another number of ranks. */
final class DigitBlock {
    static final Shape IMAGES = new Shape(1, 1, 28, 28);

    private DigitBlock() {}

    static SequentialBlock make() {
        return new SequentialBlock()
                .add(convolution(10))
                .add(Pool.maxPool2dBlock(new Shape(2, 2), new Shape(2, 2)))
                .add(Activation::relu)
                .add(convolution(20))
                .add(Pool.maxPool2dBlock(new Shape(2, 2), new Shape(2, 2)))
                .add(Activation::relu)
                .add(Blocks.batchFlattenBlock())
                .add(Linear.builder().setUnits(50).build())
                .add(Activation::relu)
                .add(Linear.builder().setUnits(10).build());
    }

    private static Conv2d convolution(int filters) {
        return Conv2d.builder()
                .setKernelShape(new Shape(5, 5))
                .setFilters(filters)
                .build();
    }
}
