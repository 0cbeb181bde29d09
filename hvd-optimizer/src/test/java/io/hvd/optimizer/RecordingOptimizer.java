package io.hvd.optimizer;

import io.hvd.tensor.Tensor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Steps nothing; remembers what it was asked to do. For parameters of any type. */
public class RecordingOptimizer implements Optimizer {
    final List<String> calls = new ArrayList<>();
    private final List<Parameter> parameters;
    private double learningRate;

    public RecordingOptimizer(List<Parameter> parameters) {
        this.parameters = parameters;
    }

    /** A parameter whose value and gradient are of this kind. */
    public static Parameter parameter(String name, Tensor value) {
        return new Parameter(name, value, Tensor.zeros(value.dtype(), value.shape()));
    }

    @Override
    public List<Parameter> parameters() {
        return parameters;
    }

    @Override
    public void step() {
        calls.add("step");
    }

    @Override
    public void zeroGradients() {
        calls.add("zeroGradients");
    }

    @Override
    public double learningRate() {
        return learningRate;
    }

    @Override
    public void learningRate(double rate) {
        learningRate = rate;
    }

    @Override
    public byte[] saveState() {
        return "state".getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public void loadState(byte[] state) {
        calls.add("loadState " + new String(state, StandardCharsets.UTF_8));
    }
}
