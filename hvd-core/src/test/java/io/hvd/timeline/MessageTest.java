package io.hvd.timeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.DamagedMessages;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;

class MessageTest {
    @Test
    void everyMessageArrivesAsItWasAndDamagedOnesAreRefused() {
        List<Event> events = List.of(
                Event.at(Event.Kind.STEP, 5),
                new Event(Event.Kind.ENDED, 6, 7, 8, "tensor \u00fc", "what", "text".repeat(900)));
        List<Message> all = List.of(
                new Message.Ping(1L << 50),
                new Message.Pong(1, 2, 3),
                new Message.Events(4, events),
                new Message.Events(4, List.of()),
                new Message.End(9, 10));
        for (Message message : all) {
            ByteBuffer encoded = message.encode();
            byte[] bytes = new byte[encoded.remaining()];
            encoded.duplicate().get(bytes);

            assertThat(Message.decode(encoded)).isEqualTo(message);
            DamagedMessages.of(bytes, damaged -> Message.decode(ByteBuffer.wrap(damaged)));
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
