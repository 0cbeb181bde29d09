package io.hvd.train.checkpoint;

import io.hvd.HvdContext;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.ShardedOptimizer;
import io.hvd.tensor.Tensor;
import java.nio.file.Path;
import java.util.Map;
import java.util.SortedMap;
import java.util.function.DoubleConsumer;

/**
 * A worker of an elastic job that trains a model by an optimizer whose state is shared out, and the same model by one whose state is not.
 * Both have the same gradients, which depend on rank and step.
 */
final class ShardedFit {
    /** A model, its gradients and its optimizers. */
    interface Model {
        /** Adds gradients of a rank's part of a step, times a factor. */
        void backward(int rank, int step, double factor);

        Optimizer unsharded();

        ShardedOptimizer sharded(HvdContext hvd);

        /** Copies of the parameters. */
        SortedMap<String, Tensor> values();

        void load(SortedMap<String, Tensor> values);

        /** The moments of each parameter and how many steps they have seen, in words; none for one without a step. */
        SortedMap<String, String> moments(byte[] optimizersState);
    }

    /** One of the two trainings. */
    static final class Side {
        final Model model;
        final TrainingState<Optimizer> state;
        /** Throws if this worker is to be lost when the root has taken its share, and before others take theirs. */
        Runnable inSync = () -> {};

        private ShardedOptimizer sharded;
        private DistributedOptimizer optimizer;

        private Side(Model model, boolean shards, boolean amp, Path folder) {
            this.model = model;
            this.state = TrainingState.of(hvd -> make(hvd, shards, amp))
                    .model(
                            () -> {
                                inSync.run();
                                return model.values();
                            },
                            model::load)
                    .checkpoints(folder)
                    .build();
        }

        private Optimizer make(HvdContext hvd, boolean shards, boolean amp) {
            sharded = shards ? model.sharded(hvd) : null;
            optimizer = DistributedOptimizer.wrap(shards ? sharded : model.unsharded())
                    .compareParametersEvery(1)
                    .build();
            return amp ? AmpOptimizer.wrap(optimizer).build() : optimizer;
        }

        ShardedOptimizer sharded() {
            return sharded;
        }

        private void backward(HvdContext hvd, int step) {
            state.optimizer().zeroGradients();
            DoubleConsumer pass = factor -> model.backward(hvd.rank(), step, factor);
            if (state.optimizer() instanceof AmpOptimizer amp) {
                amp.backward(pass::accept);
            } else {
                pass.accept(1);
            }
        }

        /** The whole state, which each rank gets in its turn. A collective. */
        byte[] optimizersState(HvdContext hvd) {
            byte[] mine = null;
            for (int rank = 0; rank < hvd.size(); rank++) {
                if (sharded != null) {
                    sharded.consolidate(rank);
                }
                mine = rank == hvd.rank() ? optimizer.saveState() : mine;
            }
            return mine;
        }

        SortedMap<String, String> moments(HvdContext hvd) {
            return model.moments(optimizersState(hvd));
        }

        /** The state of the scaler of losses; empty without one. */
        Map<String, Double> scaler() {
            return state.optimizer() instanceof AmpOptimizer amp ? amp.scaler().stateDict() : Map.of();
        }

        String values() {
            StringBuilder all = new StringBuilder();
            model.values().forEach((name, value) -> all.append(name).append(bits(value)));
            return all.toString();
        }

        private static String bits(Tensor value) {
            StringBuilder bits = new StringBuilder();
            for (float each : value.toFloatArray()) {
                bits.append(' ').append(Integer.toHexString(Float.floatToRawIntBits(each)));
            }
            return bits.toString();
        }
    }

    final Side shared;
    final Side plain;

    ShardedFit(Model shared, Model plain, boolean amp, Path folder) {
        this.shared = new Side(shared, true, amp, folder);
        this.plain = new Side(plain, false, amp, folder);
    }

    void sync(HvdContext hvd, int root) {
        plain.state.sync(hvd, root);
        shared.state.sync(hvd, root);
    }

    void steps(HvdContext hvd, int from, int to) {
        for (int step = from; step < to; step++) {
            stepWithoutCommit(hvd, step);
            plain.state.committed();
            shared.state.committed();
        }
    }

    void stepWithoutCommit(HvdContext hvd, int step) {
        for (Side side : new Side[] {plain, shared}) {
            side.backward(hvd, step);
            side.state.optimizer().step();
        }
    }

    void change(HvdContext hvd) {
        plain.state.changing(hvd);
        shared.state.changing(hvd);
    }

    void abandon() {
        plain.state.abandoned();
        shared.state.abandoned();
    }
}
