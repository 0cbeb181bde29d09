package io.hvd.optimizer.djl;

import ai.djl.Model;
import ai.djl.training.TrainingConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.Optimizer;
import io.hvd.tensor.Tensor;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * What of a DJL training goes from one generation of an elastic job to the next: the model's values, and what DJL's optimizer remembers.
 * Both outlive the {@link DistributedTrainer}, which each generation makes anew.
 *
 * <pre>{@code
 * DjlEngine.load();
 * var elasticModel = ElasticModel.of(model, config);
 * var state = TrainingState.of(hvd -> elasticModel.optimizer())
 *         .model(elasticModel::values, elasticModel::load)
 *         .with("sampler", sampler)
 *         .build();
 * Elastic.run(state, elastic -> {
 *     try (Trainer trainer = DistributedTrainer.of(elastic.context(), model, config)) {
 *         ... // elastic.commit() directly behind each trainer.step()
 *     }
 * });
 * }</pre>
 */
public final class ElasticModel {
    private final Model model;
    private final DjlOptimizer optimizer;

    private ElasticModel(Model model, TrainingConfig config) {
        this.model = model;
        this.optimizer = new DjlOptimizer(config.getOptimizer(), BlockParameters.slots(model));
    }

    /**
     * Of a model and the configuration of its trainers, which are made before the first generation.
     *
     * @throws HvdException unless the model's block has values, as {@code block.initialize(manager, type, shapes)} or a loaded model gives
     *     it: DJL's optimizer knows parameters from then on
     */
    public static ElasticModel of(Model model, TrainingConfig config) {
        if (!model.getBlock().isInitialized()) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "ElasticModel.of(...) of the model \"" + model.getName()
                            + "\", whose parameters have no values: call"
                            + " model.getBlock().initialize(model.getNDManager(), DataType.FLOAT32, shapes) first");
        }
        return new ElasticModel(model, config);
    }

    /** DJL's optimizer, whose state the ranks have in common; a {@link DistributedTrainer} steps it. */
    public Optimizer optimizer() {
        return optimizer;
    }

    /** The memory of the model's values, by the block's names. */
    public SortedMap<String, Tensor> values() {
        SortedMap<String, Tensor> values = new TreeMap<>(BlockParameters.values(model, true));
        values.putAll(BlockParameters.values(model, false));
        return values;
    }

    /** Overwrites the model's values where they lie. */
    public void load(SortedMap<String, Tensor> others) {
        values().forEach((name, value) -> value.copyFrom(others.get(name)));
    }
}
