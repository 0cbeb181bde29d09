package io.hvd.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.hvd.net.MalformedMessageException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import java.util.function.Consumer;

/** Control messages that were cut off, changed or made up: reading one gives a value or a {@link MalformedMessageException}. */
public final class DamagedMessages {
    private static final int RANDOM_MESSAGES = 2_000;
    private static final int CHANGED_MESSAGES = 3_000;
    private static final int MOST_CHANGES = 4;
    private static final int MOST_RANDOM_BYTES = 200;
    private static final int MOST_CUTS = 2_000;

    private DamagedMessages() {}

    /**
     * Reads what becomes of a message that is right.
     *
     * @param read throws nothing else than a MalformedMessageException
     */
    public static void of(byte[] message, Consumer<byte[]> read) {
        read.accept(message.clone());
        int refused = cutOff(message, read) + lengthened(message, read);
        assertThat(refused).as("messages that were cut off or are too long").isPositive();
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        for (int i = 0; i < CHANGED_MESSAGES; i++) {
            isRefused(changed(message, random), read, seed);
        }
        for (int i = 0; i < RANDOM_MESSAGES; i++) {
            byte[] any = new byte[random.nextInt(MOST_RANDOM_BYTES)];
            random.nextBytes(any);
            isRefused(any, read, seed);
        }
    }

    private static int cutOff(byte[] message, Consumer<byte[]> read) {
        int refused = 0;
        for (int length = Math.max(0, message.length - MOST_CUTS); length < message.length; length++) {
            refused += isRefused(Arrays.copyOf(message, length), read, 0) ? 1 : 0;
        }
        return refused;
    }

    private static int lengthened(byte[] message, Consumer<byte[]> read) {
        return isRefused(Arrays.copyOf(message, message.length + 1), read, 0) ? 1 : 0;
    }

    /** Flips bits, or puts in the numbers at which lengths go wrong. */
    private static byte[] changed(byte[] message, Random random) {
        byte[] changed = message.clone();
        for (int i = random.nextInt(MOST_CHANGES); i >= 0 && changed.length > 0; i--) {
            int at = random.nextInt(changed.length);
            switch (random.nextInt(4)) {
                case 0 -> changed[at] = (byte) random.nextInt();
                case 1 -> changed[at] = Byte.MIN_VALUE;
                case 2 -> Arrays.fill(changed, at, Math.min(changed.length, at + Integer.BYTES), (byte) -1);
                default -> changed[at] ^= (byte) (1 << random.nextInt(Byte.SIZE));
            }
        }
        return changed;
    }

    private static boolean isRefused(byte[] message, Consumer<byte[]> read, long seed) {
        try {
            read.accept(message);
            return false;
        } catch (MalformedMessageException e) {
            assertThat(e).hasMessageContaining("cannot be read at byte").hasMessageContaining("found");
            return true;
        } catch (Throwable e) {
            return fail(e + " for " + HexFormat.of().formatHex(message) + ", seed " + seed, e);
        }
    }
}
