package io.hvd.file;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.stream.Stream;

/** Writes a file as another process, and is killed or waits meanwhile. */
public final class WholeFileProgram {
    private static final int KILLED = 9;

    private WholeFileProgram() {}

    /** A process is killed in the middle of writing this file, and has left its temporary one. */
    public static void beginAndBeKilled(Path file) throws IOException {
        Job killed = Job.run(Job.program(WholeFileProgram.class, "killed", file.toString()), Map.of());
        assertThat(killed.exitCode()).as(killed.output()).isEqualTo(KILLED);
        try (Stream<Path> files = Files.list(file.getParent())) {
            assertThat(files.map(left -> left.getFileName().toString()))
                    .anyMatch(name -> name.startsWith("." + file.getFileName() + ".") && name.endsWith(".tmp"));
        }
    }

    public static void main(String[] args) throws IOException {
        Path file = Path.of(args[1]);
        switch (args[0]) {
            case "killed" -> WholeFile.write(file, WholeFileProgram::beginAndDie);
            case "waiting" -> WholeFile.write(file, WholeFileProgram::writeSlowly);
            case "locking" -> lock(file);
            case "large" -> WholeFile.write(file, new byte[1 << 20]);
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static void beginAndDie(FileChannel channel) throws IOException {
        channel.write(ByteBuffer.wrap("the first half".getBytes(StandardCharsets.UTF_8)));
        Runtime.getRuntime().halt(KILLED);
    }

    private static void writeSlowly(FileChannel channel) throws IOException {
        channel.write(ByteBuffer.wrap("the first half".getBytes(StandardCharsets.UTF_8)));
        awaitLine("writing");
        channel.write(ByteBuffer.wrap(", the second half".getBytes(StandardCharsets.UTF_8)));
    }

    private static void lock(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.lock();
            awaitLine("locked");
        }
    }

    private static void awaitLine(String said) throws IOException {
        System.out.println(said);
        System.in.read();
    }
}
