package io.hvd.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.hvd.Hvd;
import io.hvd.data.ElasticSampler;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.Sgd;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import io.hvd.train.checkpoint.Checkpoints;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Python's own safetensors and torch read what a {@link Checkpoint} has written, and write what it reads. The property
 * {@code hvd.test.python} names a Python other than {@code python3} that has both packages (Debian 13 has them).
 */
@Tag("long")
class PythonSafetensorsIT {
    private static final String PYTHON = System.getProperty("hvd.test.python", "python3");

    private static final String SCRIPT = """
            import json, sys, torch
            from safetensors import safe_open
            from safetensors.torch import load_file, save_file
            state = load_file(sys.argv[1])
            with safe_open(sys.argv[1], framework="pt") as file:
                words = file.metadata()
            print(json.dumps({"words": words, "tensors": {
                name: [str(t.dtype), list(t.shape), t.to(torch.float64).flatten().tolist()] for name, t in state.items()}}))
            del state["uint16"]  # safetensors 0.4.5 of Python reads it and cannot write it
            save_file(state, sys.argv[2], metadata={"by": "python"})
            """;

    private static final String READING = """
            import sys
            from safetensors import safe_open
            with safe_open(sys.argv[1], framework="pt") as file:
                words = file.metadata()
                print(words["step"], words["epoch"], words["world_size"], words["sampler.position"],
                      file.get_tensor("model.w").tolist(), file.get_tensor("optimizer.momentum_buffer.w").dtype)
            """;

    /** As transformers and accelerate read a model of several files. */
    private static final String READING_ALL = """
            import json, os, sys
            from safetensors import safe_open
            with open(os.path.join(sys.argv[1], "model.safetensors.index.json")) as file:
                index = json.load(file)
            found = {}
            for name, part in index["weight_map"].items():
                with safe_open(os.path.join(sys.argv[1], part), framework="pt") as file:
                    found[name] = file.get_tensor(name)
            size = sum(t.numel() * t.element_size() for t in found.values())
            print(size == index["metadata"]["total_size"], len(set(index["weight_map"].values())),
                  {name: t.tolist() for name, t in sorted(found.items())})
            """;

    @TempDir
    Path folder;

    @BeforeEach
    void needsPython() throws Exception {
        boolean there;
        try {
            there = python("import safetensors.torch").waitFor() == 0;
        } catch (IOException e) {
            there = false;
        }
        assumeTrue(there, "no Python with safetensors and torch; -Dhvd.test.python names one");
    }

    private Process python(String script, String... arguments) throws IOException {
        List<String> command = Stream.concat(Stream.of(PYTHON, "-c", script), Arrays.stream(arguments))
                .toList();
        return new ProcessBuilder(command)
                .redirectOutput(folder.resolve("out").toFile())
                .redirectError(folder.resolve("err").toFile())
                .start();
    }

    @Test
    void everyTypeComesToPythonAndBack() throws Exception {
        assumeTrue(
                python("import torch; torch.uint16").waitFor() == 0, "this torch is older than 2.3: it has no uint16");
        TreeMap<String, Tensor> tensors = new TreeMap<>();
        for (DType type : DType.values()) {
            tensors.put(type.toString(), someElements(type));
        }
        tensors.put("a scalar", Tensor.wrap(new float[] {0.5f}, DType.FLOAT32, Shape.scalar()));
        tensors.put("nothing", Tensor.zeros(DType.FLOAT32, Shape.of(0, 4)));
        Path java = folder.resolve("java.safetensors");
        Path python = folder.resolve("python.safetensors");
        new Checkpoint(tensors, Map.of("epochs", "3")).write(java);

        Process process = python(SCRIPT, java.toString(), python.toString());
        assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
        assertThat(process.exitValue())
                .as(Files.readString(folder.resolve("err")))
                .isZero();

        JsonObject seen =
                JsonParser.parseString(Files.readString(folder.resolve("out"))).getAsJsonObject();
        assertThat(seen.getAsJsonObject("words").get("epochs").getAsString()).isEqualTo("3");
        JsonObject seenTensors = seen.getAsJsonObject("tensors");
        assertThat(seenTensors.keySet()).isEqualTo(tensors.keySet());
        tensors.forEach((name, tensor) -> assertSame(name, tensor, seenTensors.getAsJsonArray(name)));

        tensors.remove(DType.UINT16.toString());
        Checkpoint back = Checkpoint.read(python);
        assertThat(back.metadata()).containsEntry("by", "python");
        assertThat(back.tensors().keySet()).isEqualTo(tensors.keySet());
        tensors.forEach((name, tensor) -> {
            assertThat(back.tensors().get(name)).hasToString(tensor.toString());
            assertThat(back.tensors().get(name).toArray()).as(name).isEqualTo(tensor.toArray());
        });
    }

    @Test
    void pythonReadsTheTensorsAndTheManifestOfACheckpointOfASeries() throws Exception {
        Hvd.spawn(2, hvd -> {
            var parameters = new ArrayParameters().add("w", new float[] {0, 1, 1.5f, -2}, new float[4]);
            var sampler = ElasticSampler.builder(10, 2, hvd.rank()).build();
            sampler.recordBatch(3);
            try (var checkpoints = Checkpoints.in(folder, hvd, new Sgd(parameters, 1, 0.5, 0))
                    .with("sampler", sampler)
                    .build()) {
                checkpoints.saveAndWait(12, 1);
            }
            return null;
        });
        Process process =
                python(READING, folder.resolve("step-0000000012.safetensors").toString());
        assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
        assertThat(process.exitValue())
                .as(Files.readString(folder.resolve("err")))
                .isZero();
        assertThat(Files.readString(folder.resolve("out")).strip())
                .isEqualTo("12 1 2 6 [0.0, 1.0, 1.5, -2.0] torch.float32");
    }

    @Test
    void pythonReadsTheFilesOfAllRanksByTheirIndex() throws Exception {
        Hvd.spawn(2, hvd -> {
            var parameters = new ArrayParameters().add("w", new float[] {0, 1, 1.5f, -2}, new float[4]);
            try (var checkpoints = Checkpoints.in(folder, hvd, new Sgd(parameters, 1, 0.5, 0))
                    .everyRankWrites()
                    .build()) {
                checkpoints.saveAndWait(12, 1);
            }
            return null;
        });
        Process process = python(READING_ALL, folder.resolve("step-0000000012").toString());
        assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
        assertThat(process.exitValue())
                .as(Files.readString(folder.resolve("err")))
                .isZero();
        assertThat(Files.readString(folder.resolve("out")).strip())
                .isEqualTo(
                        "True 2 {'model.w': [0.0, 1.0, 1.5, -2.0], 'optimizer.momentum_buffer.w': [0.0, 0.0, 0.0, 0.0]}");
    }

    private static void assertSame(String name, Tensor tensor, JsonArray seen) {
        assertThat(seen.get(0).getAsString()).isEqualTo("torch." + tensor.dtype());
        assertThat(numbers(seen.get(1))).as(name).containsExactly(longs(tensor.shape()));
        assertThat(numbers(seen.get(2))).as(name).containsExactly(values(tensor));
    }

    private static double[] numbers(JsonElement array) {
        return array.getAsJsonArray().asList().stream()
                .mapToDouble(JsonElement::getAsDouble)
                .toArray();
    }

    private static double[] longs(Shape shape) {
        return Arrays.stream(shape.toArray()).asDoubleStream().toArray();
    }

    /** 0, 1, 1.5 and -2 where the type has them; the bits of the 16-bit floats are those of IEEE 754 and bfloat16. */
    private static Tensor someElements(DType type) {
        Shape shape = Shape.of(2, 2);
        return switch (type) {
            case FLOAT32 -> Tensor.wrap(new float[] {0, 1, 1.5f, -2}, type, shape);
            case FLOAT64 -> Tensor.wrap(new double[] {0, 1, 1.5, -2}, type, shape);
            case FLOAT16 -> Tensor.wrap(new short[] {0, 0x3C00, 0x3E00, (short) 0xC000}, type, shape);
            case BFLOAT16 -> Tensor.wrap(new short[] {0, 0x3F80, 0x3FC0, (short) 0xC000}, type, shape);
            case INT32 -> Tensor.wrap(new int[] {0, 1, Integer.MAX_VALUE, -2}, type, shape);
            case INT64 -> Tensor.wrap(new long[] {0, 1, 1L << 40, -2}, type, shape);
            case INT16 -> Tensor.wrap(new short[] {0, 1, Short.MAX_VALUE, -2}, type, shape);
            case UINT16 -> Tensor.wrap(new short[] {0, 1, Short.MAX_VALUE, -2}, type, shape);
            case INT8, UINT8 -> Tensor.wrap(new byte[] {0, 1, 127, -2}, type, shape);
            case BOOL -> Tensor.wrap(new byte[] {0, 1, 1, 0}, type, shape);
        };
    }

    private static double[] values(Tensor tensor) {
        if (tensor.shape().equals(Shape.scalar())) {
            return new double[] {0.5};
        }
        if (tensor.shape().elements() == 0) {
            return new double[0];
        }
        return switch (tensor.dtype()) {
            case FLOAT32, FLOAT64, FLOAT16, BFLOAT16 -> new double[] {0, 1, 1.5, -2};
            case INT32 -> new double[] {0, 1, Integer.MAX_VALUE, -2};
            case INT64 -> new double[] {0, 1, 1L << 40, -2};
            case INT16 -> new double[] {0, 1, Short.MAX_VALUE, -2};
            case UINT16 -> new double[] {0, 1, Short.MAX_VALUE, 65534};
            case INT8 -> new double[] {0, 1, 127, -2};
            case UINT8 -> new double[] {0, 1, 127, 254};
            case BOOL -> new double[] {0, 1, 1, 0};
        };
    }
}
