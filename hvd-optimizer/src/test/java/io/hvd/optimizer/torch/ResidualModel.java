package io.hvd.optimizer.torch;

import static org.bytedeco.pytorch.global.torch.mse_loss;
import static org.bytedeco.pytorch.global.torch.tanh;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.LayerNormImpl;
import org.bytedeco.pytorch.LayerNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.LongVector;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Residual blocks of odd widths between two layers that are in no unit; whole, or with the blocks as units of a {@link FullyShard}. */
final class ResidualModel extends Module {
    static final int WIDTH = 8;

    final LinearImpl first = register_module("first", new LinearImpl(Models.INPUTS, WIDTH));
    final LinearImpl last = register_module("last", new LinearImpl(WIDTH, Models.OUTPUTS));
    final List<Block> blocks = new ArrayList<>();
    private final ScalarType type;
    /** Null if the model is whole. */
    private FullyShard shard;

    static final class Block extends Module {
        final LinearImpl up;
        final LinearImpl down;
        final LayerNormImpl norm =
                register_module("norm", new LayerNormImpl(new LayerNormOptions(new LongVector(new long[] {WIDTH}))));

        Block(int inner) {
            up = register_module("up", new LinearImpl(WIDTH, inner));
            down = register_module("down", new LinearImpl(inner, WIDTH));
        }

        Tensor forward(Tensor x) {
            return x.add(down.forward(tanh(up.forward(norm.forward(x)))));
        }
    }

    ResidualModel(ScalarType type, long seed, int... inner) {
        this.type = type;
        for (int i = 0; i < inner.length; i++) {
            blocks.add(register_module("block" + i, new Block(inner[i])));
        }
        Models.fill(this, seed);
        to(type, false);
    }

    /** Three blocks. */
    static ResidualModel of(ScalarType type, long seed) {
        return new ResidualModel(type, seed, 7, 3, 11);
    }

    /** Makes each block a unit and the rest the root. */
    FullyShard sharded(FullyShard over) {
        for (int i = 0; i < blocks.size(); i++) {
            over.unit("block" + i, blocks.get(i));
        }
        shard = over.root(this);
        return shard;
    }

    Tensor forward(Tensor x) {
        return shard == null ? whole(x) : shard.forward(() -> whole(x));
    }

    private Tensor whole(Tensor x) {
        Tensor h = first.forward(x);
        for (int i = 0; i < blocks.size(); i++) {
            h = shard == null ? blocks.get(i).forward(h) : shard.forward("block" + i, blocks.get(i)::forward, h);
        }
        return last.forward(h);
    }

    /** The mean squared error over samples {@code from} to {@code to - 1}, in the type of the targets. */
    Tensor loss(int from, int to) {
        return loss(from, to, type);
    }

    /** @param computeType of the layers */
    Tensor loss(int from, int to, ScalarType computeType) {
        Tensor y = forward(Models.inputs(from, to).to(computeType));
        return mse_loss(y.to(type), Models.targets(from, to).to(type));
    }
}
