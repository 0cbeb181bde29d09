package io.hvd.engine.message;

import io.hvd.testing.DamagedMessages;
import java.nio.ByteBuffer;
import java.util.BitSet;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Announcements and plans that were cut off, changed or made up are refused in one way. */
class DamagedPlansTest {
    private static byte[] bytes(ByteBuffer message) {
        byte[] bytes = new byte[message.remaining()];
        message.get(bytes);
        return bytes;
    }

    @Test
    void announcements() throws ReflectiveOperationException {
        BitSet known = new BitSet();
        known.set(70, 90);
        List<Request> fresh = new Samples().of(Request.class, 1);
        var wishes = new Announcement.Wishes(1, 2, 3, known, fresh, List.of("A.b(A.java:1)"));
        byte[] message = bytes(PlanCodec.encode(new Announcement(List.of(wishes), true, "failure")));

        DamagedMessages.of(message, damaged -> PlanCodec.decodeAnnouncement(ByteBuffer.wrap(damaged)));
    }

    @Test
    void plans() throws ReflectiveOperationException {
        List<Batch> batches = new Samples().of(Batch.class, 1);
        Plan plan = new Plan(1, batches, List.of(List.of("a", "b"), List.of()), true, "failure");

        DamagedMessages.of(bytes(PlanCodec.encode(plan)), damaged -> PlanCodec.decodePlan(ByteBuffer.wrap(damaged)));
    }
}
