package com.example;

import io.hvd.Elastic;
import io.hvd.data.ElasticSampler;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.StateDict;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.train.checkpoint.TrainingState;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;

/** The tutorial's trainer in a job that goes on when a rank is lost. */
public class ElasticRanks {
    public static void main(String[] args) throws Exception {
        var model = Circle.model(32);
        var adam = new Adam(model.parameters(), new AdamOptions(0.05));
        var inner = new TorchOptimizer(adam, model.named_parameters());
        var sampler = ElasticSampler.builder(Circle.POINTS).build();
        var state = TrainingState.of(hvd -> DistributedOptimizer.wrap(inner).build())
                .model(() -> StateDict.of(model), saved -> StateDict.load(model, saved))
                .with("sampler", sampler)
                .build();
        Elastic.run(state, elastic -> {                      // once for each generation
            for (int epoch = sampler.epoch(); epoch < 10; epoch++) {
                sampler.setEpoch(epoch);
                int[] order = sampler.beginEpoch();          // what is left of the epoch
                for (int from = 0; from < order.length; from += Circle.BATCH) {
                    sampler.recordBatch(Circle.BATCH);       // as a DataLoader does
                    try (PointerScope scope = new PointerScope()) {
                        state.optimizer().zeroGradients();
                        Circle.loss(model, order, from).backward();
                        state.optimizer().step();
                    }
                    elastic.commit();                        // directly behind the step
                }
                if (elastic.context().rank() == 0) {
                    System.out.println("epoch " + epoch + ": " + Circle.right(model) + " of 1000 right");
                }
            }
        });
    }
}
