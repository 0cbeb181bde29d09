package io.hvd.optimizer.guard;

import java.nio.ByteBuffer;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;

/** Eight bytes that stand for many: CRC-32C and CRC-32 side by side, two different polynomials, both in hardware. */
final class Fingerprint {
    private final CRC32C high = new CRC32C();
    private final CRC32 low = new CRC32();

    /** Takes in the first bytes of a buffer, whatever its position. */
    void add(ByteBuffer buffer, int bytes) {
        high.update(buffer.slice(0, bytes));
        low.update(buffer.slice(0, bytes));
    }

    long value() {
        return high.getValue() << 32 | low.getValue();
    }
}
