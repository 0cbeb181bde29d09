package io.hvd.train.safetensors;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.zip.CRC32C;

/**
 * The CRC-32C of a whole checkpoint file: of the header's length, the header and all tensors. Its eight hexadecimal
 * digits are the first word of the header, so that they lie at bytes {@value #AT} to 46 of every file; for the sum they
 * count as zeros:
 *
 * <pre>
 * length of the header   {"__metadata__":{"hvd.crc32c":"0123abcd", ... }, "conv.weight":{ ... }, ...   tensors
 * 0                      8                              39
 * </pre>
 *
 * In the header a tab and a newline stand behind the words, behind every tensor and at the end. They mean nothing to
 * any reader of JSON and no other program writes them, so that a file whose checksum was overwritten is told from one
 * that never had any.
 */
public final class FileChecksum {
    static final String KEY = "hvd.crc32c";

    /** The mark by which hvd's headers are told from those of other programs. */
    static final String MARK = "\t\n";

    /** Keys of hvd's own. */
    static final String OWN = "hvd.";

    /** Takes the place of the digits until they are known. */
    static final String NO_DIGITS = "00000000";

    /** Place of the digits in the file. */
    static final int AT = 39;

    private static final int LENGTH_BYTES = 8;
    private static final byte[] BEFORE =
            ("{\"" + CheckpointHeader.METADATA + "\":{\"" + KEY + "\":\"").getBytes(StandardCharsets.UTF_8);

    private final CRC32C sum = new CRC32C();

    /** Adds the length and the header, which begins with the word of the checksum. */
    void addHeader(byte[] header) {
        sum.update(
                ByteBuffer.allocate(LENGTH_BYTES).order(ByteOrder.LITTLE_ENDIAN).putLong(0, header.length));
        int digits = AT - LENGTH_BYTES;
        int behind = digits + NO_DIGITS.length();
        sum.update(header, 0, digits);
        sum.update(NO_DIGITS.getBytes(StandardCharsets.US_ASCII));
        sum.update(header, behind, header.length - behind);
    }

    /** Adds what lies between position and limit, and changes neither. */
    void add(ByteBuffer bytes) {
        sum.update(bytes.duplicate());
    }

    String digits() {
        return digits(sum);
    }

    private static String digits(CRC32C sum) {
        return String.format(Locale.ROOT, "%08x", sum.getValue());
    }

    /** The CRC-32C of bytes alone. */
    static String ofBytes(byte[] bytes) {
        CRC32C sum = new CRC32C();
        sum.update(bytes);
        return digits(sum);
    }

    /** Whether a file with this header has a checksum. */
    static boolean isIn(byte[] header, Map<String, String> words) throws DamagedCheckpoint {
        if (!isMarked(header) && words.keySet().stream().noneMatch(key -> key.startsWith(OWN))) {
            return false;
        }
        boolean atItsPlace = Arrays.mismatch(header, BEFORE) == BEFORE.length;
        if (!atItsPlace || words.getOrDefault(KEY, "").length() != NO_DIGITS.length()) {
            throw new DamagedCheckpoint("hvd has written its header, but there is no \"" + KEY + "\" with "
                    + NO_DIGITS.length() + " digits at byte " + AT);
        }
        return true;
    }

    private static boolean isMarked(byte[] header) {
        for (int i = 1; i < header.length; i++) {
            if (header[i - 1] == MARK.charAt(0) && header[i] == MARK.charAt(1)) {
                return true;
            }
        }
        return false;
    }
}
