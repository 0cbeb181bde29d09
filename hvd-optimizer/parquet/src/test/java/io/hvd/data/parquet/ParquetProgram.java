package io.hvd.data.parquet;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.train.UnevenSteps;
import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * One epoch over Parquet files on the ranks of a job, which goes on from a checkpoint if there is one. Its arguments are the files' folder,
 * one for the checkpoint and the rows that each rank has seen, and the step after which rank 2 kills itself; 0 for none.
 */
final class ParquetProgram {
    static final int BATCH = 500;
    static final int STEPS_BETWEEN_CHECKPOINTS = 50;

    record Sample(int id, float[] vector) {}

    private ParquetProgram() {}

    public static void main(String[] args) throws Exception {
        List<Path> files;
        try (Stream<Path> found = Files.list(Path.of(args[0]))) {
            files = found.sorted().toList();
        }
        try (HvdContext hvd = Hvd.init()) {
            train(hvd, files, Path.of(args[1]), Integer.parseInt(args[2]));
        }
    }

    static ParquetDataset<Sample> open(List<Path> files) {
        return ParquetDataset.builder(files, row -> new Sample(row.getInt("id"), row.floats("vector")))
                .columns("id", "vector")
                .build();
    }

    private static void train(HvdContext hvd, List<Path> files, Path folder, int lastStep) throws Exception {
        hvd.barrier();
        long begun = System.nanoTime();
        var rows = open(files);
        var sampler = RowGroupSampler.builder(rows, hvd.size(), hvd.rank())
                .padded(false)
                .seed(3)
                .build();
        Path checkpoint = folder.resolve("state");
        if (Files.exists(checkpoint)) {
            sampler.loadState(read(checkpoint));
        }
        double opened = secondsSince(begun);
        Path seen = folder.resolve("seen-" + hvd.size() + "-" + hvd.rank());
        try (var out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(seen)));
                var loader = DataLoader.<Sample, List<Sample>>builder(rows, sampler, List::copyOf)
                        .batchSize(BATCH)
                        .workers(1)
                        .evenSteps(UnevenSteps.REFUSE.among(hvd))
                        .build()) {
            int step = 0;
            for (List<Sample> batch : loader) {
                if (step++ == 0) {
                    print("FIRST rank=%d opened=%.3f batch=%.3f", hvd.rank(), opened, secondsSince(begun));
                }
                for (Sample sample : batch) {
                    out.writeInt(sample.id);
                }
                out.flush();
                hvd.barrier();
                if (step % STEPS_BETWEEN_CHECKPOINTS == 0 && hvd.rank() == 0) {
                    write(checkpoint, sampler.saveState());
                }
                if (step == lastStep && hvd.rank() == 2) {
                    killThisProcess();
                }
            }
        }
        print("ENDED rank=%d blocks=%d", hvd.rank(), rows.blocksDecoded());
    }

    private static double secondsSince(long begun) {
        return (System.nanoTime() - begun) / 1e9;
    }

    private static void killThisProcess() throws Exception {
        String pid = String.valueOf(ProcessHandle.current().pid());
        new ProcessBuilder("kill", "-KILL", pid).start().waitFor();
    }

    private static void write(Path file, Map<String, String> state) throws IOException {
        String words = new TreeMap<>(state)
                .entrySet().stream()
                        .map(entry -> entry.getKey() + "=" + entry.getValue())
                        .collect(Collectors.joining("\n"));
        Path unfinished = Files.writeString(file.resolveSibling("state-unfinished"), words, StandardCharsets.UTF_8);
        Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    static Map<String, String> read(Path file) throws IOException {
        return Files.readAllLines(file).stream()
                .map(line -> line.split("=", 2))
                .collect(Collectors.toMap(words -> words[0], words -> words[1]));
    }

    private static void print(String format, Object... values) {
        System.out.print(String.format(Locale.ROOT, format + "%n", values));
    }
}
