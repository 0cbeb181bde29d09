package io.hvd.train;

import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Tells after each epoch the most memory that each rank's process has had resident, as Linux counts it: native memory, as LibTorch's, is in it. A rank whose
 * memory grows from epoch to epoch keeps something.
 */
public final class Memory implements Callback {
    private static final Pattern LINE = Pattern.compile("(?m)^VmHWM:\\s+(\\d+) kB$");

    private final Consumer<String> out;

    /** @param out gets a line per epoch on the first rank, such as {@code System.out::println} */
    public Memory(Consumer<String> out) {
        this.out = out;
    }

    /** The peak of this process in MiB, rounded down; 0 where Linux does not say. */
    public static long peakMebibytes() {
        Path status = Path.of("/proc/self/status");
        if (!Files.isReadable(status)) {
            return 0;
        }
        try {
            Matcher line = LINE.matcher(Files.readString(status));
            return line.find() ? Long.parseLong(line.group(1)) / 1024 : 0;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The peaks of all ranks for a line of text. */
    public static String inWords(long[] mebibytes) {
        return Arrays.stream(mebibytes)
                .mapToObj(peak -> peak == 0 ? "unknown" : Long.toString(peak))
                .toList()
                .toString();
    }

    @Override
    public void epochEnds(Training training) {
        long[] mine = {peakMebibytes()};
        Object all =
                training.ranks().allgather("training.memory", Tensor.of(mine)).toArray();
        if (training.ranks().rank() == 0) {
            out.accept("epoch " + (training.epoch() + 1) + "/" + training.epochs()
                    + ": peak memory of the ranks' processes in MiB " + inWords((long[]) all));
        }
    }
}
