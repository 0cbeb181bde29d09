package io.hvd.optimizer.djl;

import ai.djl.Model;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import io.hvd.Elastic;
import io.hvd.data.ElasticSampler;
import io.hvd.train.checkpoint.TrainingState;
import java.util.Arrays;

/** A DJL training in an elastic job. Each rank says at its end what it has seen, and the bits of its weights. */
public final class ElasticDjlProgram {
    static final int EPOCHS = 12;
    static final int SAMPLES = 240;
    static final int BATCH = 4;

    private float lastLoss;

    private ElasticDjlProgram() {}

    public static void main(String[] args) throws Exception {
        new ElasticDjlProgram().run();
    }

    private void run() throws Exception {
        DjlEngine.load();
        Model model = TinyTask.model((int) ProcessHandle.current().pid(), true);
        DefaultTrainingConfig config = TinyTask.config(
                Optimizer.adam().optLearningRateTracker(Tracker.fixed(0.02f)).build());
        model.getBlock().initialize(model.getNDManager(), DataType.FLOAT32, TinyTask.INPUT);
        ElasticModel elasticModel = ElasticModel.of(model, config);
        ElasticSampler sampler = ElasticSampler.builder(SAMPLES).build();
        var state = TrainingState.of(hvd -> elasticModel.optimizer())
                .model(elasticModel::values, elasticModel::load)
                .with("sampler", sampler)
                .build();
        long[] steps = new long[2];
        Elastic.run(state, elastic -> {
            try (Trainer trainer = DistributedTrainer.of(elastic.context(), model, config)) {
                train(elastic, trainer, sampler);
            }
            steps[0] = elastic.step();
            steps[1] = elastic.generation();
        });
        StringBuilder bits = new StringBuilder();
        TinyTask.weights(model).forEach((name, values) -> bits.append(name).append(Arrays.toString(values)));
        System.out.println("ENDED steps " + steps[0] + " generation " + steps[1] + " loss " + lastLoss + " bits "
                + bits.toString().hashCode());
    }

    private void train(Elastic elastic, Trainer trainer, ElasticSampler sampler) {
        for (int epoch = sampler.epoch(); epoch < EPOCHS; epoch++) {
            sampler.setEpoch(epoch);
            int[] order = sampler.beginEpoch();
            for (int from = 0; from < order.length; from += BATCH) {
                sampler.recordBatch(BATCH);
                backward(trainer, Arrays.copyOfRange(order, from, from + BATCH));
                trainer.step();
                elastic.commit();
            }
        }
    }

    private void backward(Trainer trainer, int[] samples) {
        float[] inputs = new float[BATCH * 3];
        float[] outputs = new float[BATCH * 2];
        for (int i = 0; i < BATCH; i++) {
            for (int j = 0; j < 3; j++) {
                inputs[3 * i + j] = (float) Math.sin(0.7 * samples[i] + j);
            }
            outputs[2 * i] = inputs[3 * i] - inputs[3 * i + 1];
            outputs[2 * i + 1] = inputs[3 * i + 2];
        }
        try (GradientCollector collector = trainer.newGradientCollector()) {
            var manager = trainer.getManager();
            NDList out = trainer.forward(new NDList(manager.create(inputs, new Shape(BATCH, 3))));
            var loss = trainer.getLoss().evaluate(new NDList(manager.create(outputs, new Shape(BATCH, 2))), out);
            lastLoss = loss.getFloat();
            collector.backward(loss);
        }
    }
}
