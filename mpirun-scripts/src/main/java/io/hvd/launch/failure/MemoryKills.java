package io.hvd.launch.failure;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;

/**
 * How many processes the kernel has killed for want of memory, by its own counters.
 *
 * @param ofGroup in the control group of this process, which is its container if it is in one; empty where nobody counts
 * @param ofMachine on this machine; empty where nobody counts
 */
public record MemoryKills(OptionalLong ofGroup, OptionalLong ofMachine) {

    private static final String COUNTER = "oom_kill ";

    /** @param root of the file system */
    public static MemoryKills now(Path root) {
        return new MemoryKills(group(root), count(root.resolve("proc/vmstat")));
    }

    /** In version 2 of control groups one line has the path; in version 1 the one of the memory's. */
    private static OptionalLong group(Path root) {
        try {
            for (String line : Files.readAllLines(root.resolve("proc/self/cgroup"))) {
                OptionalLong count = count(root.resolve("sys/fs/cgroup"), line.split(":", 3));
                if (count.isPresent()) {
                    return count;
                }
            }
        } catch (IOException e) {
            return OptionalLong.empty();
        }
        return OptionalLong.empty();
    }

    private static OptionalLong count(Path mounted, String[] words) {
        if (words.length < 3) {
            return OptionalLong.empty();
        }
        String path = words[2].replaceFirst("^/+", "");
        if (words[0].equals("0")) {
            return first(mounted, path, "memory.events");
        }
        return List.of(words[1].split(",")).contains("memory")
                ? first(mounted.resolve("memory"), path, "memory.oom_control")
                : OptionalLong.empty();
    }

    /** In a container the path may be that of the host, and the container's own group is where the system is mounted. */
    private static OptionalLong first(Path mounted, String path, String file) {
        OptionalLong own = count(mounted.resolve(path).resolve(file));
        return own.isPresent() ? own : count(mounted.resolve(file));
    }

    private static OptionalLong count(Path file) {
        try {
            for (String line : Files.readAllLines(file)) {
                if (line.startsWith(COUNTER)) {
                    return OptionalLong.of(
                            Long.parseLong(line.substring(COUNTER.length()).strip()));
                }
            }
            return OptionalLong.empty();
        } catch (IOException | NumberFormatException e) {
            return OptionalLong.empty();
        }
    }

    /** What has happened since, in words that follow "was killed by signal 9: "; empty if nobody counts. */
    public String since(MemoryKills before) {
        long inGroup = more(ofGroup, before.ofGroup);
        long here = more(ofMachine, before.ofMachine);
        if (inGroup > 0 || here > 0) {
            String where = inGroup > 0 ? "of this job's control group" : "of this machine";
            return "by the kernel for want of memory, which has killed " + Math.max(inGroup, inGroup > 0 ? 0 : here)
                    + " process(es) " + where + " meanwhile";
        }
        return ofMachine.isPresent() && before.ofMachine.isPresent()
                ? "by someone; the kernel has killed nothing for want of memory meanwhile"
                : "";
    }

    private static long more(OptionalLong now, OptionalLong before) {
        return now.isPresent() && before.isPresent() ? now.getAsLong() - before.getAsLong() : 0;
    }
}
