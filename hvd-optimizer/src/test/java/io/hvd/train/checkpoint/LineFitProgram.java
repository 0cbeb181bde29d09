package io.hvd.train.checkpoint;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.train.Training;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Runs {@link LineFit} on the ranks of a job. Its arguments are a folder for checkpoints, one for each rank's points, the kind
 * of end ({@code none}, {@code KILL} or {@code TERM}) and the step from which on rank 1 sends itself that signal, once; with
 * {@code EARLY} it sends itself SIGTERM before it has any data.
 */
final class LineFitProgram {
    static final int EPOCHS = 3;

    private LineFitProgram() {}

    public static void main(String[] args) throws Exception {
        Path points = Path.of(args[1]);
        try (HvdContext hvd = Hvd.init()) {
            LineFit fit = new LineFit(hvd);
            fit.early = TerminationSignal.listen();
            if (hvd.rank() == 1 && args[2].equals("EARLY")) {
                signal("TERM");
            }
            var sent = new AtomicBoolean();
            try (Checkpoints checkpoints = fit.checkpoints(Path.of(args[0])).build()) {
                var training = fit.train(EPOCHS, 4, checkpoints, now -> {
                    write(points, hvd, fit);
                    if (hvd.rank() == 1 && isTime(args, now) && sent.compareAndSet(false, true)) {
                        signal(args[2]);
                    }
                });
                if (fit.autoResume.wasTerminated()) {
                    signal("TERM"); // to every rank, as Slurm's may come late or once more
                }
                if (hvd.rank() == 0) {
                    System.out.print(String.format(
                            Locale.ROOT, // written at once, and so not mixed with the log
                            "ENDED terminated=%s steps=%d epoch=%d losses=%s%n",
                            fit.autoResume.wasTerminated(),
                            training.steps(),
                            training.epoch(),
                            fit.losses));
                }
            }
        }
    }

    /** From that step on, as soon as there is a checkpoint of the second epoch. */
    private static boolean isTime(String[] args, Training now) {
        try (Stream<Path> files = Files.list(Path.of(args[0]))) {
            return List.of("KILL", "TERM").contains(args[2])
                    && now.steps() + 1 >= Long.parseLong(args[3])
                    && files.anyMatch(file -> file.getFileName().toString().compareTo("step-0000000013") > 0);
        } catch (IOException e) {
            return false; // the folder is not made yet
        }
    }

    private static void signal(String name) {
        try {
            new ProcessBuilder(
                            "kill",
                            "-" + name,
                            String.valueOf(ProcessHandle.current().pid()))
                    .start()
                    .waitFor(10, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static void write(Path folder, HvdContext hvd, LineFit fit) {
        try {
            Files.writeString(
                    folder.resolve("rank-" + hvd.rank()),
                    fit.seen.stream()
                            .map(seen -> seen.epoch() + " " + seen.step() + " " + seen.point() + "\n")
                            .collect(Collectors.joining()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
