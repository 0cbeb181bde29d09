package io.hvd.train.checkpoint;

import io.hvd.ProcessSet;
import io.hvd.data.Stateful;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.ElasticShares;
import io.hvd.optimizer.GradScaler;
import io.hvd.optimizer.ModelShards;
import io.hvd.optimizer.NamedBroadcast;
import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.Optimizer;
import io.hvd.tensor.ElementRun;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * The parts of a training that go into a checkpoint and come out of it.
 *
 * @param tensors gives the model's tensors by name
 * @param load gives the model the values of such tensors
 * @param stateful other parts with a state, by name
 * @param config words that must be the same in a run that resumes
 * @param versions words that are only noted
 * @param renames names of parameters in older checkpoints, and the ones that they have now
 */
record ResumableParts(
        Optimizer optimizer,
        Supplier<? extends SortedMap<String, Tensor>> tensors,
        Consumer<SortedMap<String, Tensor>> load,
        SortedMap<String, Stateful> stateful,
        SortedMap<String, String> config,
        SortedMap<String, String> versions,
        SortedMap<String, String> renames) {
    private static final String MODEL = "model.";
    /** Before the names of the optimizer's tensors and words. */
    static final String OPTIMIZER = "optimizer.";

    Manifest manifest(long step, int epoch, int worldSize) {
        SortedMap<String, String> words = new TreeMap<>();
        config.forEach((key, word) -> words.put(Manifest.CONFIG + key, word));
        versions.forEach((key, word) -> words.put(Manifest.VERSION + key, word));
        stateful.forEach((name, part) -> part.saveState().forEach((key, word) -> words.put(name + "." + key, word)));
        return new Manifest(step, epoch, worldSize, words);
    }

    /** Everything as it is now, in the snapshot's memory. */
    Checkpoint checkpoint(Manifest manifest, TensorCopies snapshot) {
        NamedState state = state(false);
        return checkpoint(manifest, state, snapshot.of(all(tensors.get(), state)));
    }

    /**
     * The optimizer's state.
     *
     * @param shared whether each rank writes its own
     */
    NamedState state(boolean shared) {
        return shared ? optimizer.namedState() : optimizer.wholeState();
    }

    /** Whether several ranks have shares of the optimizer's state. */
    boolean sharesState() {
        return shards(optimizer).isPresent()
                || distributed(optimizer)
                        .filter(DistributedOptimizer::sharesState)
                        .isPresent();
    }

    /** The tensors of a checkpoint with these parts. */
    static SortedMap<String, Tensor> all(SortedMap<String, Tensor> model, NamedState state) {
        SortedMap<String, Tensor> all = new TreeMap<>();
        model.forEach((name, tensor) -> all.put(MODEL + name, tensor));
        state.tensors().forEach((name, tensor) -> all.put(OPTIMIZER + name, tensor));
        return all;
    }

    /** The names in a checkpoint of the model's tensors that the optimizer does not step: buffers, and parameters that are frozen. */
    Set<String> notStepped(SortedMap<String, Tensor> model) {
        if (model.isEmpty()) {
            return Set.of(); // shards, of which to ask for their gradients takes memory
        }
        Set<String> names = new TreeSet<>(model.keySet());
        optimizer.parameters().forEach(parameter -> names.remove(parameter.name()));
        return names.stream().map(name -> MODEL + name).collect(Collectors.toSet());
    }

    static Checkpoint checkpoint(Manifest manifest, NamedState state, SortedMap<String, Tensor> copies) {
        SortedMap<String, String> words = new TreeMap<>(manifest.words());
        state.words().forEach((key, word) -> words.put(OPTIMIZER + key, word));
        words.put(Manifest.LIBRARY, "pt");
        return new Checkpoint(copies, words);
    }

    /** Bytes by which a checkpoint grows in the first steps, in which many optimizers make their buffers. */
    long growth(NamedState now) {
        long bytes = now.tensors().values().stream().mapToLong(Tensor::bytes).sum();
        return Math.max(0, optimizer.fullStateBytes() - bytes);
    }

    private SortedMap<String, Tensor> model(TensorCopies snapshot) {
        return snapshot.of(all(tensors.get(), new NamedState(new TreeMap<>(), new TreeMap<>())));
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
     * What was found in a checkpoint, and looked at.
     *
     * @param state that of the optimizer
     * @param take gives it to the model, the optimizer and the other parts of this rank; throws an HvdException if it is of another training
     */
    record Found(Manifest manifest, NamedState state, Runnable take) {}

    /**
     * Looks at a checkpoint before anything of this training is changed.
     *
     * @throws HvdException if it is of another training, as far as that shows yet: the parts look at theirs when they take it
     */
    Found look(Checkpoint checkpoint) {
        Manifest manifest = Manifest.of(checkpoint.metadata());
        requireConfig(manifest.part("config"));
        NamedState state = state(checkpoint).renamed(this::newName);
        Runnable takeState = shards(optimizer)
                .map(shards -> shards.prepareLoad(state))
                .orElse(() -> optimizer.loadNamedState(state));
        return new Found(manifest, state, () -> {
            loadModel(checkpoint.tensors());
            takeState.run();
            loadWords(manifest);
        });
    }

    private String newName(String name) {
        return renames.getOrDefault(name, name);
    }

    /**
     * What this rank needs of a tensor of a checkpoint: all of the model, and the state of the parameters that it steps; or the elements of its
     * shards.
     */
    Optional<ElementRun> needs(String name, Shape shape) {
        boolean isState = name.startsWith(OPTIMIZER);
        String tensor = isState ? name.substring(OPTIMIZER.length()) : name;
        Optional<ModelShards> shards = shards(optimizer);
        if (shards.isPresent()) {
            return isState ? shards.get().needs(tensor, shape) : Optional.empty();
        }
        boolean needed =
                !isState || !tensor.contains(".") || optimizer.keepsStateOf(newName(NamedState.parameter(tensor)));
        return needed ? Optional.of(ElementRun.all(shape)) : Optional.empty();
    }

    /** The optimizer's state in a checkpoint. @throws HvdException if there is none */
    static NamedState state(Checkpoint checkpoint) {
        return checkpoint.state("optimizer");
    }

    private static <T> SortedMap<String, T> part(Map<String, T> all, String prefix) {
        SortedMap<String, T> part = new TreeMap<>();
        all.forEach((name, value) -> {
            if (name.startsWith(prefix)) {
                part.put(name.substring(prefix.length()), value);
            }
        });
        return part;
    }

    private void loadModel(SortedMap<String, Tensor> saved) {
        SortedMap<String, Tensor> model = new TreeMap<>();
        part(saved, MODEL).forEach((name, tensor) -> model.put(newName(name), tensor));
        load.accept(model);
    }

    void loadWords(Manifest manifest) {
        stateful.forEach((name, part) -> part.loadState(manifest.part(name)));
    }

    /**
     * Gives model and optimizer of all ranks what the root's have. A collective.
     *
     * @param root global rank
     * @param saved the state of which the root has taken its share, if the optimizer's is shared out; null on other ranks
     */
    void broadcastTensors(ProcessSet ranks, int root, NamedState saved) {
        broadcastModel(ranks, root);
        if (!sharesState()) {
            broadcastState(ranks, root);
            return;
        }
        NamedState whole = NamedBroadcast.of(ranks, "training.optimizer", saved, root, optimizer::keepsStateOf);
        if (saved == null) {
            optimizer.loadNamedState(whole);
        }
    }

    /** Gives model and optimizer of all ranks what the root's have, which has the whole of a state that is shared out. A collective. */
    void broadcastTensors(ProcessSet ranks, int root) {
        broadcastModel(ranks, root);
        broadcastState(ranks, root);
    }

    private void broadcastModel(ProcessSet ranks, int root) {
        SortedMap<String, Tensor> model = tensors.get();
        ranks.broadcastParameters(model, root);
        if (!isRoot(ranks, root)) {
            load.accept(model);
        }
    }

    private static boolean isRoot(ProcessSet ranks, int root) {
        return ranks.ranks().get(ranks.rank()) == root;
    }

    private void broadcastState(ProcessSet ranks, int root) {
        if (optimizer instanceof AmpOptimizer amp) {
            amp.broadcastOptimizerState(root);
        } else if (optimizer instanceof DistributedOptimizer distributed) {
            distributed.broadcastOptimizerState(root);
        } else {
            NamedState mine = isRoot(ranks, root) ? optimizer.namedState() : null;
            optimizer.loadNamedState(
                    NamedBroadcast.of(ranks, "training.optimizer", mine, root, optimizer::keepsStateOf));
        }
    }

    /** The optimizer of hvd that it is, or that is inside of it. */
    static Optional<DistributedOptimizer> distributed(Optimizer optimizer) {
        if (optimizer instanceof AmpOptimizer amp) {
            return Optional.of(amp.inside());
        }
        return optimizer instanceof DistributedOptimizer own ? Optional.of(own) : Optional.empty();
    }

    /** The optimizer, if each rank has a shard of every parameter only. */
    static Optional<ModelShards> shards(Optimizer optimizer) {
        return optimizer instanceof ModelShards shards ? Optional.of(shards) : Optional.empty();
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

    /**
     * The tensors of a program that names no model: the optimizer's parameters, which must be in the host's memory. Shards are none of them: they
     * are in the optimizer's state.
     */
    static SortedMap<String, Tensor> parameters(Optimizer optimizer) {
        SortedMap<String, Tensor> values = new TreeMap<>();
        if (shards(optimizer).isEmpty()) {
            optimizer.parameters().forEach(parameter -> values.put(parameter.name(), parameter.value()));
        }
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
