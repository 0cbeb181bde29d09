package io.hvd.launch;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.config.HvdConfig;
import io.hvd.error.FailureRecord;
import io.hvd.net.LauncherAddress;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;

/** Main class of a rank that runs a {@link LaunchedProgram}: the class's name, then the program's arguments. */
final class LaunchedMain {

    private LaunchedMain() {}

    /** Runs one rank of a job of {@link HvdLauncher}'s. */
    public static void main(String[] args) throws Exception {
        LaunchedProgram<?> program = Class.forName(args[0])
                .asSubclass(LaunchedProgram.class)
                .getConstructor()
                .newInstance();
        run(program, Arrays.copyOfRange(args, 1, args.length));
    }

    private static <R> void run(LaunchedProgram<R> program, String... args) throws Exception {
        try (HvdContext hvd = Hvd.init()) {
            handIn(RankResults.name(hvd.rank()), program.codec().encode(program.run(hvd, args)));
        }
    }

    private static void handIn(String name, byte[] content) throws IOException {
        Path folder = Path.of(System.getenv(FailureRecord.DIRECTORY_VARIABLE));
        if (Files.isDirectory(folder)) {
            Path unfinished = Files.createTempFile(folder, name, ".tmp");
            Files.write(unfinished, content);
            Files.move(unfinished, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
        } else {
            LauncherAddress.decode(System.getenv(LauncherAddress.VARIABLE))
                    .send(name, content, HvdConfig.fromEnvironment().control().encryption());
        }
    }
}
