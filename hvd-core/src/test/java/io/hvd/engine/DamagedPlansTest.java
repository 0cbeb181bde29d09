package io.hvd.engine;

import io.hvd.engine.Plan.Batch;
import io.hvd.engine.Plan.Op;
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
    void announcements() {
        BitSet known = new BitSet();
        known.set(70, 90);
        List<Request> fresh = List.of(Requests.sum("tensor", 4), Requests.sum("other", 5));
        var wishes = new Announcement.Wishes(1, 2, 3, known, fresh, List.of("A.b(A.java:1)"));
        byte[] message = bytes(PlanCodec.encode(new Announcement(List.of(wishes), true, "failure")));

        DamagedMessages.of(message, damaged -> PlanCodec.decodeAnnouncement(ByteBuffer.wrap(damaged)));
    }

    @Test
    void plans() {
        Batch refused = Batch.refuse("tensor", Plan.Verdict.MISMATCH, "error", List.of(0));
        Batch known = refused.withOps(List.of(new Op("", 4711)));
        Plan plan = new Plan(1, List.of(refused, known), List.of(List.of("a", "b"), List.of()), true, "failure");

        DamagedMessages.of(bytes(PlanCodec.encode(plan)), damaged -> PlanCodec.decodePlan(ByteBuffer.wrap(damaged)));
    }
}
