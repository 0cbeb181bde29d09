package io.hvd.transformers;

import static org.bytedeco.pytorch.global.torch.createCPUGenerator;
import static org.bytedeco.pytorch.global.torch.empty;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.torch.StateDict;
import io.hvd.optimizer.torch.TorchRuntime;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * A transformer whose parameters have the names of Hugging Face's files. It is trained like any LibTorch module: {@link #module()} goes to
 * the optimizer, {@link #forward} makes the graph.
 *
 * <p>For the thread that trains. Its parameters live as long as it, whatever {@code PointerScope} is open.
 */
public abstract class Transformer {
    private static final HvdLogger LOG = HvdLogger.of(Transformer.class);

    private final ModelConfig config;
    private final ParameterTree tree = new ParameterTree();
    private final Map<String, Projection> projections = new TreeMap<>();
    private final Generator weights;
    private final Generator masks;
    private LayerRunner runner = (name, layer) -> layer.get();

    /** @param seed of the weights that are drawn, and of dropout until {@link #seedDropout} */
    Transformer(ModelConfig config, long seed) {
        TorchRuntime.load();
        this.config = config;
        this.weights = createCPUGenerator().retainReference();
        this.masks = createCPUGenerator().retainReference();
        weights.set_current_seed(seed);
        masks.set_current_seed(seed);
    }

    /**
     * Computes the last layer's output.
     *
     * @param ids tokens, int64 of shape (batch, length)
     * @param mask int64 of the same shape, 1 for tokens and 0 for padding, which stands behind them
     * @return (batch, length, hidden)
     */
    public abstract org.bytedeco.pytorch.Tensor forward(
            org.bytedeco.pytorch.Tensor ids, org.bytedeco.pytorch.Tensor mask);

    /** The name of a layer's module, such as {@code encoder.layer.3}. @param layer counted from 0 */
    public abstract String layerName(int layer);

    /** The words before every name in files of models with a head, such as {@code bert.}. */
    abstract List<String> prefixes();

    /** Whether a file may have such a name, which this model has no use for. */
    abstract boolean isOfAHead(String name);

    /** The sizes. */
    public final ModelConfig config() {
        return config;
    }

    /** The module of all parameters; {@code train(boolean)} and {@code to(device)} work on it. */
    public final Module module() {
        return tree.module("");
    }

    /** The module of a part. @param name such as {@link #layerName}; unknown names are refused */
    public final Module module(String name) {
        return tree.module(name);
    }

    /** Runs a layer of a transformer. */
    @FunctionalInterface
    public interface LayerRunner {
        /** @param name the layer's module, as of {@link Transformer#layerName} @param layer computes its output */
        org.bytedeco.pytorch.Tensor run(String name, Supplier<org.bytedeco.pytorch.Tensor> layer);
    }

    /** Has each layer run by something else, such as a {@code FullyShard}, which has the layer's weights only meanwhile. */
    public final void layersRunBy(LayerRunner by) {
        runner = Objects.requireNonNull(by, "layersRunBy");
    }

    final org.bytedeco.pytorch.Tensor run(int layer, Supplier<org.bytedeco.pytorch.Tensor> body) {
        return runner.run(layerName(layer), body);
    }

    /** Gives dropout random numbers of its own on each rank. */
    public final void seedDropout(long seed) {
        masks.set_current_seed(seed);
    }

    /**
     * Takes the weights of a pretrained model. Names may have the prefix that models with a head have; what belongs to a head is left out.
     * Weights in 16 bits become float32.
     *
     * @return the names in the file that have no place here
     * @throws HvdException if a name is missing, or a shape differs; nothing is changed then
     */
    public final List<String> load(SortedMap<String, Tensor> pretrained) {
        SortedMap<String, Tensor> named = new TreeMap<>();
        pretrained.forEach((name, value) -> named.put(ownName(name), value));
        SortedMap<String, Tensor> known = new TreeMap<>(named);
        known.keySet().retainAll(tree.parameters().keySet());
        requireAll(known.keySet());
        withType(typeOf(known.values()), () -> StateDict.load(module(), known, false));
        List<String> unused = named.keySet().stream()
                .filter(name -> !known.containsKey(name) && !isOfAHead(name))
                .toList();
        if (!unused.isEmpty()) {
            LOG.warn("the file of weights has {} that this {} has no place for", unused, config.architecture());
        }
        return unused;
    }

    /** Names as of the newest files; the oldest of BERT call a norm's weight gamma. */
    final String ownName(String name) {
        String own = name;
        for (String prefix : prefixes()) {
            if (own.startsWith(prefix)) {
                own = own.substring(prefix.length());
            }
        }
        return own.replaceFirst("LayerNorm\\.gamma$", "LayerNorm.weight")
                .replaceFirst("LayerNorm\\.beta$", "LayerNorm.bias");
    }

    private void requireAll(Set<String> found) {
        List<String> missing = tree.parameters().keySet().stream()
                .filter(name -> !found.contains(name) && !isAdapter(name))
                .toList();
        if (!missing.isEmpty()) {
            throw new HvdException(
                    ErrorId.BAD_CHECKPOINT,
                    "the file of weights lacks " + missing.size() + " of the "
                            + tree.parameters().size() + " parameters of this " + config.architecture() + ", \""
                            + missing.get(0) + "\" the first");
        }
    }

    private static ScalarType typeOf(Collection<Tensor> values) {
        Set<DType> types =
                values.stream().map(Tensor::dtype).collect(Collectors.toCollection(() -> EnumSet.noneOf(DType.class)));
        if (types.size() != 1) {
            throw new HvdException(
                    ErrorId.BAD_CHECKPOINT,
                    "the weights have the types " + types + ", expected one type for all of them");
        }
        DType type = types.iterator().next();
        return switch (type) {
            case FLOAT32 -> ScalarType.Float;
            case FLOAT16 -> ScalarType.Half;
            case BFLOAT16 -> ScalarType.BFloat16;
            case FLOAT64 -> ScalarType.Double;
            default ->
                throw new HvdException(
                        ErrorId.BAD_CHECKPOINT,
                        "the weights have the type " + type + ", expected a type of decimal numbers");
        };
    }

    private void withType(ScalarType type, Runnable loading) {
        if (type == ScalarType.Float) {
            loading.run();
            return;
        }
        module().to(type, false);
        try {
            loading.run();
        } finally {
            module().to(ScalarType.Float, false);
        }
    }

    /** The weights without adapters, under the names that {@link #load} takes: copies in the host's memory. */
    public final SortedMap<String, Tensor> weights() {
        SortedMap<String, Tensor> all = StateDict.of(module());
        all.keySet().removeIf(Transformer::isAdapter);
        return all;
    }

    static boolean isAdapter(String name) {
        return name.endsWith("." + Lora.A + ".weight") || name.endsWith("." + Lora.B + ".weight");
    }

    /**
     * Keeps the embeddings and the first layers as they are. What was frozen before stays so, as all but the adapters of {@link Lora}.
     *
     * @param layers how many; all of them leave only what is added to the model, such as a head
     */
    public final void freeze(int layers) {
        if (layers < 0 || layers > config.layers()) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "freeze(" + layers + ") of a transformer of " + config.layers() + " layers, expected 0 to "
                            + config.layers());
        }
        tree.parameters().forEach((name, value) -> {
            boolean isTrained = false;
            for (int layer = layers; layer < config.layers(); layer++) {
                isTrained |= name.startsWith(layerName(layer) + ".");
            }
            if (!isTrained && !(layers < config.layers() && isBehindLayers(name))) {
                value.set_requires_grad(false);
            }
        });
    }

    /** Whether a parameter is used behind the last layer only. */
    boolean isBehindLayers(String name) {
        return false;
    }

    final void freezeAll() {
        tree.parameters().values().forEach(value -> value.set_requires_grad(false));
    }

    /** The parameters that are trained, for the constructor of a LibTorch optimizer. */
    public final TensorVector trained() {
        TensorVector trained = new TensorVector();
        tree.parameters().values().stream()
                .filter(org.bytedeco.pytorch.Tensor::requires_grad)
                .forEach(trained::push_back);
        return trained;
    }

    /** How many numbers are trained. */
    public final long trainableParameters() {
        return tree.parameters().values().stream()
                .filter(org.bytedeco.pytorch.Tensor::requires_grad)
                .mapToLong(org.bytedeco.pytorch.Tensor::numel)
                .sum();
    }

    /** How many numbers there are. */
    public final long allParameters() {
        return tree.parameters().values().stream()
                .mapToLong(org.bytedeco.pytorch.Tensor::numel)
                .sum();
    }

    /** Dense layers by the names of their modules. */
    final Map<String, Projection> projections() {
        return projections;
    }

    final ParameterTree tree() {
        return tree;
    }

    /** Adds a dense layer whose weight is drawn. */
    final Projection projection(String name, long inputs, long outputs, boolean biased) {
        org.bytedeco.pytorch.Tensor weight = drawn(name + ".weight", outputs, inputs);
        Projection made = new Projection(name, weight, biased ? constant(name + ".bias", 0, outputs) : null);
        projections.put(name, made);
        return made;
    }

    /** Adds a parameter of normally distributed numbers. */
    final org.bytedeco.pytorch.Tensor drawn(String name, long... shape) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            return tree.add(name, empty(shape).normal_(0, config.initialDeviation(), new GeneratorOptional(weights)));
        }
    }

    /** Adds a parameter of numbers that are equally likely between -bound and bound. */
    final org.bytedeco.pytorch.Tensor uniform(String name, double bound, long... shape) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            return tree.add(name, empty(shape).uniform_(-bound, bound, new GeneratorOptional(weights)));
        }
    }

    /** Adds a parameter of equal numbers. */
    final org.bytedeco.pytorch.Tensor constant(String name, double value, long... shape) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            return tree.add(name, empty(shape).fill_(new Scalar(value)));
        }
    }

    final Dropout dropout(double probability) {
        return new Dropout(probability, module(), masks);
    }
}
