package io.hvd.data.mapped;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/**
 * Reads every byte of a mapped data set on each rank, then says what of it lies in the rank's memory: {@code MAPPED rank=1
 * builds=0 sum=... rss_kb=... pss_kb=... private_kb=...}, and the same of the whole process as {@code PROCESS}. The
 * arguments are the file and its megabytes.
 */
public final class MappedMemory {
    private static final int RECORD_BYTES = 1 << 20;

    private MappedMemory() {}

    public static void main(String[] args) throws IOException {
        Path file = Path.of(args[0]);
        int records = Integer.parseInt(args[1]);
        int[] builds = {0};
        try (HvdContext hvd = Hvd.init()) {
            MappedDataset mapped = MappedDataset.shared(hvd, file, "v1", writer -> {
                builds[0]++;
                for (int i = 0; i < records; i++) {
                    writer.add(ByteBuffer.allocate(RECORD_BYTES).putLong(0, i));
                }
            });
            long sum = sum(mapped);
            hvd.barrier(); // everybody has read all of it, and keeps it until everybody has looked
            String line = String.format(
                    Locale.ROOT,
                    "rank=%d builds=%d sum=%d %s%nPROCESS rank=%d %s",
                    hvd.rank(),
                    builds[0],
                    sum,
                    figures(ofFile(file)),
                    hvd.rank(),
                    figures(Files.readAllLines(Path.of("/proc/self/smaps_rollup"))));
            hvd.barrier();
            System.out.println("MAPPED " + line);
            hvd.barrier();
            if (mapped.size() != records) {
                throw new IllegalStateException("found " + mapped.size() + " records, expected " + records);
            }
        }
    }

    private static long sum(MappedDataset mapped) {
        long sum = 0;
        for (int index = 0; index < mapped.size(); index++) {
            ByteBuffer record = mapped.get(index).order(java.nio.ByteOrder.BIG_ENDIAN);
            while (record.hasRemaining()) {
                sum += record.getLong();
            }
        }
        return sum;
    }

    /** The kernel's lines about the mappings of this file. */
    private static List<String> ofFile(Path file) throws IOException {
        List<String> all = Files.readAllLines(Path.of("/proc/self/smaps"));
        List<String> lines = new java.util.ArrayList<>();
        boolean inside = false;
        for (String line : all) {
            boolean isHead = !line.substring(0, line.indexOf(' ')).endsWith(":");
            inside = isHead ? line.endsWith(file.toString()) : inside;
            if (inside && !isHead) {
                lines.add(line);
            }
        }
        return lines;
    }

    private static String figures(List<String> lines) {
        return String.format(
                Locale.ROOT,
                "rss_kb=%d pss_kb=%d private_kb=%d",
                kilobytes(lines, "Rss:"),
                kilobytes(lines, "Pss:"),
                kilobytes(lines, "Private_Clean:") + kilobytes(lines, "Private_Dirty:"));
    }

    private static long kilobytes(List<String> lines, String name) {
        return lines.stream()
                .filter(line -> line.startsWith(name))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                .sum();
    }
}
