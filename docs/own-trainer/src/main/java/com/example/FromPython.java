package com.example;

import io.hvd.optimizer.torch.StateDict;
import io.hvd.optimizer.torch.TorchRuntime;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Path;

/** Loads the tutorial's model from a file that Python's safetensors has written, and counts what it gets right. */
public class FromPython {
    public static void main(String[] args) throws IOException {
        TorchRuntime.prepare(); // as a TorchOptimizer would
        var model = Circle.model(32);
        StateDict.load(model, Checkpoint.read(Path.of(args[0])).tensors());
        System.out.println(Circle.right(model) + " of 1000 right");
    }
}
