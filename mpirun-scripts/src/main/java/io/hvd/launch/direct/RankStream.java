package io.hvd.launch.direct;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Copies one output stream of a rank to one of the launcher's in whole lines, so that no two ranks share a line. What has
 * no end of line yet waits a moment for one, and is then shown all the same: it may be a question to the user.
 */
final class RankStream implements Runnable {

    private static final int LONGEST_LINE = 4_096;
    private static final long PAUSE_MILLIS = 20;
    private static final int MOST_PAUSES = 10;

    private final InputStream from;
    private final OutputStream to;
    private final Supplier<String> prefix;
    private final Consumer<String> lines;
    private final ByteArrayOutputStream line = new ByteArrayOutputStream();
    private boolean inLine;

    /**
     * @param to is locked for each write, since all ranks write there
     * @param prefix what stands before each line
     * @param lines gets each line as well, its bytes as characters
     */
    RankStream(InputStream from, OutputStream to, Supplier<String> prefix, Consumer<String> lines) {
        this.from = from;
        this.to = to;
        this.prefix = prefix;
        this.lines = lines;
    }

    @Override
    public void run() {
        byte[] buffer = new byte[8192];
        try (from) {
            for (int length = from.read(buffer); length >= 0; length = from.read(buffer)) {
                copy(buffer, length);
            }
        } catch (IOException e) {
            return; // the stream was closed from here, as the rank has long ended
        } finally {
            if (line.size() > 0) {
                show();
            }
        }
    }

    private void copy(byte[] bytes, int length) throws IOException {
        var whole = new ByteArrayOutputStream();
        for (int i = 0; i < length; i++) {
            line.write(bytes[i]);
            if (bytes[i] == '\n' || bytes[i] == '\r' || line.size() >= LONGEST_LINE) {
                take(whole);
            }
        }
        write(whole);
        if (line.size() > 0 && staysUnfinished()) {
            show();
        }
    }

    private boolean staysUnfinished() throws IOException {
        try {
            for (int pause = 0; pause < MOST_PAUSES && from.available() == 0; pause++) {
                TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return from.available() == 0;
    }

    private void show() {
        var part = new ByteArrayOutputStream();
        take(part);
        write(part);
    }

    /** Moves what is there of the line, with what stands before it if this is its beginning. */
    private void take(ByteArrayOutputStream whole) {
        byte[] part = line.toByteArray();
        line.reset();
        if (!inLine) {
            whole.writeBytes(prefix.get().getBytes(StandardCharsets.UTF_8));
        }
        whole.writeBytes(part);
        inLine = part[part.length - 1] != '\n';
        lines.accept(new String(part, StandardCharsets.ISO_8859_1));
    }

    /** Where nobody reads the launcher's output any more, the ranks go on all the same. */
    private void write(ByteArrayOutputStream whole) {
        if (whole.size() == 0) {
            return;
        }
        synchronized (to) {
            try {
                whole.writeTo(to);
                to.flush();
            } catch (IOException e) {
                return;
            }
        }
    }
}
