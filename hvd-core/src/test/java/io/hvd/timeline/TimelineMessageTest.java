package io.hvd.timeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.DamagedMessages;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;

class TimelineMessageTest {
    @Test
    void everyMessageArrivesAsItWasAndDamagedOnesAreRefused() {
        List<TimelineEvent> events = List.of(
                TimelineEvent.at(TimelineEvent.Kind.STEP, 5),
                new TimelineEvent(TimelineEvent.Kind.ENDED, 6, 7, 8, "tensor \u00fc", "what", "text".repeat(900)));
        List<TimelineMessage> all = List.of(
                new TimelineMessage.Ping(1L << 50),
                new TimelineMessage.Pong(1, 2, 3),
                new TimelineMessage.Events(4, events),
                new TimelineMessage.Events(4, List.of()),
                new TimelineMessage.End(9, 10));
        for (TimelineMessage message : all) {
            ByteBuffer encoded = message.encode();
            byte[] bytes = new byte[encoded.remaining()];
            encoded.duplicate().get(bytes);

            assertThat(TimelineMessage.decode(encoded)).isEqualTo(message);
            DamagedMessages.of(bytes, damaged -> TimelineMessage.decode(ByteBuffer.wrap(damaged)));
        }
    }

    @Test
    void whatARankWantsOfTheTimelineArrivesAsItWas() {
        for (int i = 0; i < 8; i++) {
            TimelineRequest wanted = new TimelineRequest((i & 1) == 1, (i & 2) == 2, (i & 4) == 4);

            assertThat(TimelineRequest.decode(wanted.encode())).isEqualTo(wanted);
        }
        DamagedMessages.of(new TimelineRequest(true, false, true).encode(), TimelineRequest::decode);
    }
}
