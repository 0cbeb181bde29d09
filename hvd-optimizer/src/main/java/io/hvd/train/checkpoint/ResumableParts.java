package io.hvd.train.checkpoint;

import io.hvd.ObjectCodec;
import io.hvd.ProcessSet;
import io.hvd.data.Stateful;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.ElasticShares;
import io.hvd.optimizer.GradScaler;
import io.hvd.optimizer.Optimizer;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The parts of a training that go into a checkpoint and come out of it.
 *
 * @param tensors gives the model's tensors by name
 * @param load gives the model the values of such tensors
 * @param stateful other parts with a state, by name
 * @param config words that must be the same in a run that resumes
 * @param versions words that are only noted
 */
record ResumableParts(
        Optimizer optimizer,
        Supplier<? extends SortedMap<String, Tensor>> tensors,
        Consumer<SortedMap<String, Tensor>> load,
        SortedMap<String, Stateful> stateful,
        SortedMap<String, String> config,
        SortedMap<String, String> versions) {
    private static final String MODEL = "model.";
    private static final String OPTIMIZER = "optimizer.state";

    Manifest manifest(long step, int epoch, int worldSize) {
        SortedMap<String, String> words = new TreeMap<>();
        config.forEach((key, word) -> words.put(Manifest.CONFIG + key, word));
        versions.forEach((key, word) -> words.put(Manifest.VERSION + key, word));
        stateful.forEach((name, part) -> part.saveState().forEach((key, word) -> words.put(name + "." + key, word)));
        return new Manifest(step, epoch, worldSize, words);
    }

    /** Everything as it is now, the model's tensors in the snapshot's memory. */
    Checkpoint checkpoint(Manifest manifest, TensorCopies snapshot) {
        SortedMap<String, Tensor> all = model(snapshot);
        all.put(OPTIMIZER, Tensor.ofBytes(optimizer.saveState()));
        return new Checkpoint(all, manifest.words());
    }

    private SortedMap<String, Tensor> model(TensorCopies snapshot) {
        SortedMap<String, Tensor> all = new TreeMap<>();
        snapshot.of(tensors.get()).forEach((name, copy) -> all.put(MODEL + name, copy));
        return all;
    }

    /**
     * Copies everything, the model's tensors into the snapshot's memory.
     *
     * @param shares the optimizer's, which has no whole state on this rank
     * @return puts the copies back
     */
    Runnable backup(TensorCopies snapshot, ElasticShares shares) {
        Manifest words = manifest(0, 0, 0);
        SortedMap<String, Tensor> copies = model(snapshot);
        Runnable share = shares.backup();
        Runnable scale = optimizer instanceof AmpOptimizer amp ? backup(amp.scaler()) : () -> {};
        return () -> {
            loadModel(copies);
            share.run();
            scale.run();
            loadWords(words);
        };
    }

    private static Runnable backup(GradScaler scaler) {
        Map<String, Double> state = scaler.stateDict();
        return () -> scaler.loadStateDict(state);
    }

    /**
     * Gives model and optimizer what the checkpoint holds. The parts with words get theirs on every rank.
     *
     * @throws HvdException if it is of another training
     */
    Manifest loadTensors(Checkpoint checkpoint) {
        Manifest manifest = Manifest.of(checkpoint.metadata());
        requireConfig(manifest.part("config"));
        Tensor state = requireOptimizer(checkpoint);
        loadModel(checkpoint.tensors());
        optimizer.loadState((byte[]) state.toArray());
        return manifest;
    }

    /** The optimizer's state in a checkpoint. @throws HvdException if there is none */
    static Tensor requireOptimizer(Checkpoint checkpoint) {
        Tensor state = checkpoint.tensors().get(OPTIMIZER);
        if (state == null || state.dtype() != DType.UINT8) {
            throw new HvdException(
                    ErrorId.STATE_MISMATCH,
                    "its tensor \"" + OPTIMIZER + "\" is " + (state == null ? "missing" : state) + ", expected one of "
                            + DType.UINT8);
        }
        return state;
    }

    private void loadModel(SortedMap<String, Tensor> saved) {
        SortedMap<String, Tensor> model = new TreeMap<>();
        saved.forEach((name, tensor) -> {
            if (name.startsWith(MODEL)) {
                model.put(name.substring(MODEL.length()), tensor);
            }
        });
        load.accept(model);
    }

    void loadWords(Manifest manifest) {
        stateful.forEach((name, part) -> part.loadState(manifest.part(name)));
    }

    /** Gives model and optimizer of all ranks what those of the root have. A collective. @param root global rank */
    void broadcastTensors(ProcessSet ranks, int root) {
        SortedMap<String, Tensor> model = tensors.get();
        ranks.broadcastParameters(model, root);
        boolean isRoot = ranks.ranks().get(ranks.rank()) == root;
        if (!isRoot) {
            load.accept(model);
        }
        if (optimizer instanceof AmpOptimizer amp) {
            amp.broadcastOptimizerState(root);
        } else if (optimizer instanceof DistributedOptimizer distributed) {
            distributed.broadcastOptimizerState(root);
        } else {
            byte[] mine = isRoot ? optimizer.saveState() : null;
            optimizer.loadState(ranks.broadcastObject("training.optimizer", mine, ObjectCodec.bytes(), root));
        }
    }

    /** The optimizer of hvd that it is, or that is inside of it. */
    static Optional<DistributedOptimizer> distributed(Optimizer optimizer) {
        if (optimizer instanceof AmpOptimizer amp) {
            return Optional.of(amp.inside());
        }
        return optimizer instanceof DistributedOptimizer own ? Optional.of(own) : Optional.empty();
    }

    /** @param call for the message */
    static String requireName(String call, String name, List<String> taken) {
        if (!name.matches("[a-z][a-z_]*") || taken.contains(name)) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    call + "(\"" + name + "\"): expected lower-case letters and underscores, and none of " + taken);
        }
        return name;
    }

    private void requireConfig(Map<String, String> saved) {
        SortedMap<String, String> both = new TreeMap<>(saved);
        both.putAll(config);
        both.forEach((key, word) -> {
            if (!word.equals(saved.get(key)) || !word.equals(config.get(key))) {
                throw new HvdException(
                        ErrorId.STATE_MISMATCH,
                        "its field \"" + Manifest.CONFIG + key + "\" is " + quoted(saved.get(key)) + ", expected "
                                + quoted(config.get(key)) + " as in this run");
            }
        });
    }

    private static String quoted(String word) {
        return word == null ? "missing" : "\"" + word + "\"";
    }

    /** The tensors of a program that names no model: the optimizer's parameters, which must be in the host's memory. */
    static SortedMap<String, Tensor> parameters(Optimizer optimizer) {
        SortedMap<String, Tensor> values = new TreeMap<>();
        optimizer.parameters().forEach(parameter -> values.put(parameter.name(), parameter.value()));
        return values;
    }

    /** Overwrites tensors. @throws HvdException if names, types or shapes differ; then nothing is changed */
    static void overwrite(SortedMap<String, Tensor> own, SortedMap<String, Tensor> saved) {
        if (!own.keySet().equals(saved.keySet())) {
            throw new HvdException(
                    ErrorId.STATE_MISMATCH,
                    "it is of another model: it has " + saved.keySet() + ", expected " + own.keySet());
        }
        own.forEach((name, tensor) -> {
            Tensor other = saved.get(name);
            if (tensor.dtype() != other.dtype() || !tensor.shape().equals(other.shape())) {
                throw new HvdException(
                        ErrorId.STATE_MISMATCH,
                        "it is of another model: \"" + name + "\" is " + other + ", expected " + tensor);
            }
        });
        own.forEach((name, tensor) -> tensor.copyFrom(saved.get(name)));
    }
}
