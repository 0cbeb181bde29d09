package io.hvd.net;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * An exchange among all ranks at the start, for which each rank first has to do something of its own, such as opening a
 * socket. A rank that cannot do it tells the others the reason instead, and all ranks throw the same error, so that no
 * rank waits for it.
 */
public final class StartupExchange {
    private StartupExchange() {}

    /** The part of one rank: it does its work, and returns the bytes for the other ranks. */
    public interface Part {
        byte[] prepare() throws IOException;
    }

    /**
     * Does this rank's part and exchanges the results; all ranks call it together.
     *
     * @param complaint the beginning of the error if this rank fails: which rank, where, and what it could not do
     * @param exchange gives every rank the bytes of all ranks, by rank
     * @return what the ranks told, by rank
     * @throws HvdException on all ranks if at least one of them failed; it has the complaints of all that did
     */
    public static List<byte[]> hold(String complaint, Part mine, Function<byte[], List<byte[]>> exchange) {
        Throwable cause = null;
        rehearse();
        Told told;
        try {
            told = new Told(mine.prepare(), Optional.empty());
        } catch (IOException | RuntimeException | LinkageError e) {
            // A process without a free file descriptor can neither open sockets nor load classes.
            cause = e;
            told = new Told(new byte[0], Optional.of(complaint + ": " + e));
        }
        return agreed(exchange.apply(told.encode()), cause);
    }

    /** Loads the classes that a complaint needs, while there is a file descriptor for it. */
    private static void rehearse() {
        Told.decode(new Told(new byte[0], Optional.of("")).encode());
    }

    private static List<byte[]> agreed(List<byte[]> all, Throwable cause) {
        List<Told> told = all.stream().map(Told::decode).toList();
        List<String> complaints =
                told.stream().flatMap(one -> one.complaint.stream()).toList();
        if (!complaints.isEmpty()) {
            throw new HvdException(ErrorId.INIT_FAILED, String.join("; ", complaints), cause);
        }
        return told.stream().map(Told::words).toList();
    }

    /**
     * The message of one rank to all others.
     *
     * @param complaint empty if the rank has done its part
     */
    record Told(byte[] words, Optional<String> complaint) {
        byte[] encode() {
            return MessageWriter.encode(out -> {
                out.writeOptional(complaint, MessageWriter::writeText);
                out.writeBytes(words);
            });
        }

        static Told decode(byte[] bytes) {
            return MessageReader.decode("what a rank tells at the start", bytes, in -> {
                Optional<String> complaint = in.readOptional(MessageReader::readText);
                return new Told(in.readBytes(), complaint);
            });
        }
    }
}
