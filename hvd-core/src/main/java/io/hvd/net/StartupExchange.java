package io.hvd.net;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;

/**
 * An exchange among all ranks at the start, for which each rank first has to do something of its own, such as opening a
 * socket. A rank that cannot do it says why instead, and all ranks throw the same error, so that nobody waits for it.
 */
public final class StartupExchange {
    private static final byte PRESENT = 0;
    private static final byte FAILED = 1;

    private StartupExchange() {}

    /** What a rank has to do, and what it then tells the others. */
    public interface Part {
        byte[] prepare() throws IOException;
    }

    /**
     * All ranks call it together.
     *
     * @param complaint how the error begins if this rank fails: which rank, where, and what it could not do
     * @param exchange gives every rank everybody's bytes, by rank
     * @return what the ranks told, by rank
     * @throws HvdException on all ranks if one of them failed; it has the complaints of all that did
     */
    public static List<byte[]> hold(String complaint, Part mine, Function<byte[], List<byte[]>> exchange) {
        Throwable cause = null;
        byte[] words;
        try {
            words = marked(PRESENT, mine.prepare());
        } catch (IOException | RuntimeException | LinkageError e) {
            // A process without a free file descriptor can neither open sockets nor load classes.
            cause = e;
            words = marked(FAILED, (complaint + ": " + e).getBytes(StandardCharsets.UTF_8));
        }
        return told(exchange.apply(words), cause);
    }

    private static List<byte[]> told(List<byte[]> all, Throwable cause) {
        List<byte[]> told = new ArrayList<>();
        List<String> complaints = new ArrayList<>();
        for (byte[] words : all) {
            byte[] rest = Arrays.copyOfRange(words, 1, words.length);
            told.add(rest);
            if (words[0] == FAILED) {
                complaints.add(new String(rest, StandardCharsets.UTF_8));
            }
        }
        if (!complaints.isEmpty()) {
            throw new HvdException(ErrorId.INIT_FAILED, String.join("; ", complaints), cause);
        }
        return told;
    }

    private static byte[] marked(byte mark, byte[] rest) {
        byte[] words = new byte[1 + rest.length];
        words[0] = mark;
        System.arraycopy(rest, 0, words, 1, rest.length);
        return words;
    }
}
