package io.hvd.optimizer.djl;

import ai.djl.Device;
import ai.djl.nn.Parameter;
import ai.djl.training.TrainingConfig;
import ai.djl.training.evaluator.Evaluator;
import ai.djl.training.initializer.Initializer;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.util.PairList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.function.Predicate;

/** A program's training configuration with other listeners. */
record SharedConfig(TrainingConfig given, List<TrainingListener> listeners) implements TrainingConfig {
    @Override
    public Device[] getDevices() {
        return given.getDevices();
    }

    @Override
    public PairList<Initializer, Predicate<Parameter>> getInitializers() {
        return given.getInitializers();
    }

    @Override
    public Optimizer getOptimizer() {
        return given.getOptimizer();
    }

    @Override
    public Loss getLossFunction() {
        return given.getLossFunction();
    }

    @Override
    public ExecutorService getExecutorService() {
        return given.getExecutorService();
    }

    @Override
    public List<Evaluator> getEvaluators() {
        return given.getEvaluators();
    }

    @Override
    public List<TrainingListener> getTrainingListeners() {
        return listeners;
    }
}
