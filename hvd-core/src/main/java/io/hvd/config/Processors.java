package io.hvd.config;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;

/**
 * The processors on which this process may run, and whether the other ranks of its host run on the same ones. They do
 * unless the launcher has bound each rank to processors of its own, or the JVM has been told how many it has.
 *
 * @param available the number of processors as the JVM counts them
 * @param told whether the JVM has been told how many there are
 * @param bound whether no other rank runs on them
 */
public record Processors(int available, boolean told, boolean bound) {
    private static final String TOLD = "-XX:ActiveProcessorCount=";
    private static final Path ONLINE = Path.of("/sys/devices/system/cpu/online");
    private static final String MASK = "Cpus_allowed_list:";

    /** @param localSize ranks on this host; all of them must have been started */
    public static Processors ofThisProcess(int localSize) {
        boolean told = ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .anyMatch(argument -> argument.startsWith(TOLD));
        return new Processors(Runtime.getRuntime().availableProcessors(), told, localSize > 1 && isBound(localSize));
    }

    /** Whether they are this rank's, and not to be divided among those of the host. */
    public boolean own() {
        return told || bound;
    }

    /** The number of processors that each of so many ranks has; at least one. */
    public int share(int localSize) {
        return own() ? available : Math.max(1, available / localSize);
    }

    /** The number of processors of all ranks of this host together, as far as is known. */
    public int ofAll(int localSize) {
        return bound ? available * localSize : available;
    }

    private static boolean isBound(int localSize) {
        Optional<BitSet> mine = mask(ProcessHandle.current().pid());
        return mine.isPresent() && !isEverything(mine.get()) && isAlone(mine.get(), masksOfOthers(), localSize);
    }

    /** Ranks are children of one process of the launcher, which may have started other programs, such as ssh. */
    private static List<Optional<BitSet>> masksOfOthers() {
        ProcessHandle self = ProcessHandle.current();
        Optional<String> program = self.info().command();
        return self.parent().stream()
                .flatMap(ProcessHandle::children)
                .filter(child ->
                        child.pid() != self.pid() && child.info().command().equals(program))
                .map(child -> mask(child.pid()))
                .toList();
    }

    /**
     * If the mask has all processors, no rank has processors of its own, and the host's processes need not be examined.
     */
    private static boolean isEverything(BitSet mask) {
        try {
            BitSet missing = parse(Files.readString(ONLINE).strip());
            missing.andNot(mask);
            return missing.isEmpty();
        } catch (IOException | NumberFormatException e) {
            return false;
        }
    }

    /** @param others the processors of the launcher's other children; empty where it cannot be known */
    static boolean isAlone(BitSet mine, List<Optional<BitSet>> others, int localSize) {
        return localSize > 1
                && others.size() >= localSize - 1
                && others.stream()
                        .allMatch(other -> other.isPresent() && !other.get().intersects(mine));
    }

    private static Optional<BitSet> mask(long pid) {
        try (var lines = Files.lines(Path.of("/proc/" + pid + "/status"))) {
            return lines.filter(line -> line.startsWith(MASK))
                    .findFirst()
                    .map(line -> parse(line.substring(MASK.length()).strip()));
        } catch (IOException | java.io.UncheckedIOException | NumberFormatException e) {
            return Optional.empty(); // gone, or a system without /proc
        }
    }

    /** Reads a list such as {@code 0-3,8}. */
    static BitSet parse(String list) {
        BitSet mask = new BitSet();
        for (String part : list.split(",")) {
            String[] ends = part.split("-");
            mask.set(Integer.parseInt(ends[0]), Integer.parseInt(ends[ends.length - 1]) + 1);
        }
        return mask;
    }
}
