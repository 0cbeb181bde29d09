package io.hvd.examples.volume;

import java.util.List;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/** Blocks one after the other. */
final class ConvSequential extends Module {
    private final List<ConvBlock> blocks;

    /** @param name of a block, before its number */
    ConvSequential(String name, ConvBlock... blocks) {
        this.blocks = List.of(blocks);
        for (int i = 0; i < blocks.length; i++) {
            register_module(name + i, blocks[i]);
        }
    }

    Tensor forward(Tensor x) {
        Tensor y = x;
        for (ConvBlock block : blocks) {
            y = block.forward(y);
        }
        return y;
    }
}
