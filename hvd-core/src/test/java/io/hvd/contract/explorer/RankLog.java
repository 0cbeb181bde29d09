package io.hvd.contract.explorer;

import io.hvd.contract.program.Op;
import io.hvd.contract.program.Program;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A rank's log of a program. Times are those of {@link System#nanoTime}, which is one clock for all processes of
 * a machine; 0 stands for never.
 */
final class RankLog {
    private static final int MOST_FINDINGS = 12;

    /** By operation: when the rank asked for it. */
    final long[] called;
    /** When that call of it came back, if it was not the one that waits. */
    final long[] handed;
    /** When it began to wait. */
    final long[] waited;
    /** When it knew that it was done, or had failed. */
    final long[] done;
    /** Digest of what it has got. */
    final long[] digest;
    /** The message of a barrier that gave up; else empty. */
    final String[] gaveUp;

    /** {@link Starvation#samples} of the rank's process, in the log of one of its ranks; else empty. */
    long[] starvation = {};

    private final List<String> findings = new ArrayList<>();

    RankLog(int operations) {
        called = new long[operations];
        handed = new long[operations];
        waited = new long[operations];
        done = new long[operations];
        digest = new long[operations];
        gaveUp = new String[operations];
        Arrays.fill(gaveUp, "");
    }

    /** Something is not as it should be; any thread of the rank. */
    synchronized void find(String what) {
        if (findings.size() < MOST_FINDINGS) {
            findings.add(what);
        }
    }

    synchronized List<String> findings() {
        return List.copyOf(findings);
    }

    /** The operations that the rank waits in, for a program that does not end. */
    String unfinished(Program program) {
        return program.ops().stream()
                .filter(op ->
                        done[op.id()] == 0 && (waited[op.id()] != 0 || called[op.id()] != 0 && handed[op.id()] == 0))
                .map(Op::toString)
                .collect(Collectors.joining(", "));
    }

    byte[] toBytes() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeInt(called.length);
            for (int op = 0; op < called.length; op++) {
                out.writeLong(called[op]);
                out.writeLong(handed[op]);
                out.writeLong(waited[op]);
                out.writeLong(done[op]);
                out.writeLong(digest[op]);
                out.writeUTF(gaveUp[op]);
            }
            out.writeInt(starvation.length);
            for (long sample : starvation) {
                out.writeLong(sample);
            }
            List<String> all = findings();
            out.writeInt(all.size());
            for (String finding : all) {
                out.writeUTF(finding.substring(0, Math.min(2_000, finding.length())));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    static RankLog of(byte[] bytes) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            RankLog log = new RankLog(in.readInt());
            for (int op = 0; op < log.called.length; op++) {
                log.called[op] = in.readLong();
                log.handed[op] = in.readLong();
                log.waited[op] = in.readLong();
                log.done[op] = in.readLong();
                log.digest[op] = in.readLong();
                log.gaveUp[op] = in.readUTF();
            }
            log.starvation = new long[in.readInt()];
            for (int i = 0; i < log.starvation.length; i++) {
                log.starvation[i] = in.readLong();
            }
            for (int left = in.readInt(); left > 0; left--) {
                log.find(in.readUTF());
            }
            return log;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
