package com.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The programs of the tutorial, started as it says. */
class TutorialTest {
    private static final Pattern EPOCH = Pattern.compile("epoch (\\d+): (\\d+) of 1000 right");

    @TempDir
    Path folder;

    @Test
    void oneProcessLearns() throws Exception {
        assertLearnt(10, Program.alone(OneProcess.class));
    }

    @Test
    void fourRanksLearnTheSameAndOneReports() throws Exception {
        assertLearnt(10, Program.underMpirun(4, FourRanks.class));
    }

    @Test
    void aTrainingOfTwoRanksGoesOnWithOne() throws Exception {
        String file = folder.resolve("circle.safetensors").toString();
        assertEquals(List.of(0, 1), epochs(Program.underMpirun(2, Resumable.class, file, "2")));

        String resumed = Program.alone(Resumable.class, file, "4");

        assertEquals(List.of(2, 3), epochs(resumed));
        assertFalse(resumed.contains("epoch 0"), resumed);
    }

    /** The file has no checksum and no words, as Python's safetensors.torch.save_file leaves it. */
    @Test
    void aModelOfPythonIsLoaded() throws Exception {
        String header = """
                {"0.weight":{"dtype":"F32","shape":[32,2],"data_offsets":[0,256]},\
                "0.bias":{"dtype":"F32","shape":[32],"data_offsets":[256,384]},\
                "2.weight":{"dtype":"F32","shape":[1,32],"data_offsets":[384,512]},\
                "2.bias":{"dtype":"F32","shape":[1],"data_offsets":[512,516]}}""";
        ByteBuffer file = ByteBuffer.allocate(8 + header.length() + 516).order(ByteOrder.LITTLE_ENDIAN);
        file.putLong(header.length()).put(header.getBytes(StandardCharsets.UTF_8));
        file.putFloat(file.capacity() - 4, 1); // this bias alone calls every point a point inside
        Path python = Files.write(folder.resolve("from-python.safetensors"), file.array());

        assertTrue(Program.alone(FromPython.class, python.toString()).contains(inside() + " of 1000 right"));
    }

    /** How many of the test's points lie inside the circle: about its area, 0.503, of them. */
    private static long inside() {
        Random random = new Random(2);
        long inside = 0;
        for (int i = 0; i < 1000; i++) {
            float x = random.nextFloat() - 0.5f;
            float y = random.nextFloat() - 0.5f;
            inside += x * x + y * y < 0.16f ? 1 : 0;
        }
        return inside;
    }

    private static void assertLearnt(int epochs, String output) {
        assertEquals(epochs, epochs(output).size(), output);
        int last = EPOCH.matcher(output)
                .results()
                .mapToInt(found -> Integer.parseInt(found.group(2)))
                .reduce(0, (a, b) -> b);
        assertTrue(last >= 800, output); // half of them is chance
    }

    private static List<Integer> epochs(String output) {
        return EPOCH.matcher(output)
                .results()
                .map(found -> Integer.parseInt(found.group(1)))
                .toList();
    }
}
