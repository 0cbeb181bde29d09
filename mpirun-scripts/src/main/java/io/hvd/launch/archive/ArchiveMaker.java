package io.hvd.launch.archive;

import io.hvd.file.RegularFile;
import io.hvd.launch.jvm.JavaLine;
import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

/**
 * Makes a program's archive of the lists of classes that a job's ranks have left. The JVM only reads the classes from their
 * jars; it runs nothing of the program. A process of its own does this when the job is over, at the lowest priority, and
 * nobody waits for it. Of several at a time one goes on, and its end, however it comes, leaves no lock.
 */
final class ArchiveMaker {

    /** The time in which the JVM makes an archive; one that takes longer is ended. */
    static final Duration LIMIT = Duration.ofMinutes(3);

    private static final File NOTHING = new File("/dev/null");

    private final ArchiveFolder folder;
    private final ArchivedProgram program;

    ArchiveMaker(ArchiveFolder folder, ArchivedProgram program) {
        this.folder = folder;
        this.program = program;
    }

    /** The words of an {@link ArchiveOrder}. */
    public static void main(String[] args) throws IOException, InterruptedException {
        var order = ArchiveOrder.of(args);
        var folder = new ArchiveFolder(order.recording().getParent(), Clock.systemUTC());
        new ArchiveMaker(folder, order.program()).make(order.recording(), order.subcommand());
        if (order.link().isPresent()) {
            new ArchiveLink(order.link().get()).leadTo(order.program(), folder);
        }
    }

    /** Makes the archive unless another process does, or has done it meanwhile. The recording is gone afterwards. */
    void make(Path recording, String subcommand) throws IOException, InterruptedException {
        try (FileChannel channel = FileChannel.open(
                        RegularFile.at(folder.lock(program)), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock held = channel.tryLock()) {
            Optional<KnownArchive> known = folder.known(program);
            if (held != null && known.filter(one -> one.has(subcommand)).isEmpty()) {
                make(recording, subcommand, known);
                new ArchiveSweep(folder.path(), folder.clock()).run();
            }
        } finally {
            ClassLists.delete(recording);
        }
    }

    private void make(Path recording, String subcommand, Optional<KnownArchive> known)
            throws IOException, InterruptedException {
        Set<String> subcommands = new TreeSet<>(Set.of(subcommand));
        Set<String> classes = new LinkedHashSet<>();
        if (known.isPresent()) {
            subcommands.addAll(known.get().subcommands());
            classes.addAll(lines(folder.classes(program)));
        }
        for (Path list : lists(recording)) {
            classes.addAll(lines(list));
        }
        Files.write(RegularFile.at(folder.classes(program)), classes);
        List<String> facts = program.facts();
        Path archive = folder.newArchive(program);
        boolean made = dump(archive) && isAccepted(archive);
        if (made) {
            force(archive);
        } else {
            Files.deleteIfExists(archive);
        }
        folder.write(program, facts, made ? Optional.of(archive) : Optional.empty(), subcommands);
    }

    /** One for each rank, the longest first: other ranks than the first one have work, and so classes, of their own. */
    private static List<Path> lists(Path recording) throws IOException {
        Map<Path, Long> sizes = new TreeMap<>();
        try (DirectoryStream<Path> lists = Files.newDirectoryStream(recording)) {
            for (Path list : lists) {
                sizes.put(list, Files.size(list));
            }
        }
        return sizes.entrySet().stream()
                .sorted(Map.Entry.<Path, Long>comparingByValue().reversed())
                .map(Map.Entry::getKey)
                .toList();
    }

    /**
     * Lines as they can be put together with those of other lists: without numbers, and without what class loaders of the
     * program's own have loaded, which lines refer to by such numbers. The last line of a JVM that was killed may be torn.
     */
    private static List<String> lines(Path list) throws IOException {
        if (!Files.isRegularFile(list)) {
            return List.of();
        }
        String text = Files.readString(RegularFile.at(list));
        return text.substring(0, text.lastIndexOf('\n') + 1)
                .lines()
                .filter(line -> !line.startsWith("#") && !line.contains(" source: "))
                .map(line -> line.replaceFirst(" id: \\d*$", ""))
                .toList();
    }

    private boolean dump(Path archive) throws IOException, InterruptedException {
        return java(List.of(
                "-Xshare:dump",
                "-XX:SharedClassListFile=" + folder.classes(program),
                "-XX:SharedArchiveFile=" + archive));
    }

    /** Whether a JVM takes the archive; with this flag one that does not ends. */
    private boolean isAccepted(Path archive) throws IOException, InterruptedException {
        return Files.isRegularFile(archive)
                && java(List.of("-Xshare:on", "-XX:SharedArchiveFile=" + archive, "-version"));
    }

    private boolean java(List<String> words) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(program.java().toString()));
        command.addAll(program.flags());
        command.addAll(List.of("-cp", program.classPath()));
        command.addAll(words);
        var builder = new ProcessBuilder(command)
                .redirectInput(NOTHING)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD);
        builder.environment().keySet().removeAll(JavaLine.VARIABLES);
        Process process = builder.start();
        try {
            return process.waitFor(LIMIT.toMillis(), TimeUnit.MILLISECONDS) && process.exitValue() == 0;
        } finally {
            process.destroyForcibly();
        }
    }

    /** A record on the disk must not be there before its archive is. */
    private static void force(Path archive) throws IOException {
        try (FileChannel channel = FileChannel.open(archive, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }
}
