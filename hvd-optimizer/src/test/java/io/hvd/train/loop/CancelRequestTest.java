package io.hvd.train.loop;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class CancelRequestTest {
    private final CancelRequest request = new CancelRequest();

    @Test
    void theFirstReasonCounts() {
        assertThat(request.reason()).isNull();

        request.cancel("first");
        request.cancel("second");

        assertThat(request.reason()).isEqualTo("first");
    }

    @Test
    void aReasonIsNotTakenBackAndNobodyIsAskedAfterIt() {
        AtomicInteger asked = new AtomicInteger();
        request.cancelWhen(() -> asked.incrementAndGet() == 2 ? "now" : null);

        assertThat(request.reason()).isNull();
        assertThat(request.reason()).isEqualTo("now");
        assertThat(request.reason()).isEqualTo("now");
        assertThat(asked).hasValue(2);
    }

    @Test
    void aQuestionThatThrowsIsAReason() {
        request.cancelWhen(() -> {
            throw new IllegalStateException("no answer");
        });

        assertThat(request.reason()).contains("has thrown", "IllegalStateException", "no answer");
    }
}
