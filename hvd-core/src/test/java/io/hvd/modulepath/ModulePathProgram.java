package io.hvd.modulepath;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;
import java.util.List;

/** A program on the class path that has hvd on the module path; its package is in no module. */
final class ModulePathProgram {
    private ModulePathProgram() {}

    public static void main(String[] arguments) {
        Module module = Hvd.class.getModule();
        System.out.println("module " + module.getName());
        for (String name : List.of("io.hvd", "io.hvd.job", "io.hvd.engine")) {
            System.out.println(name + " is " + (module.isExported(name) ? "exported" : "hidden"));
        }
        if (List.of(arguments).contains("gpu")) {
            System.out.println("CUDA " + Hvd.capabilities().cudaBuilt());
        } else {
            sum();
        }
    }

    private static void sum() {
        try (HvdContext hvd = Hvd.init()) {
            Tensor sum = hvd.allreduce("ranks", Tensor.of(1 + hvd.rank()), AllreduceOptions.sum());
            System.out.println("rank " + hvd.rank() + " has " + ((int[]) sum.toArray())[0] + " by " + hvd.backend());
        }
    }
}
