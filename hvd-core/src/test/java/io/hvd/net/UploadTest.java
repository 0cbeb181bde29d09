package io.hvd.net;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.DamagedMessages;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

class UploadTest {
    @Test
    void anUploadArrivesAsItWasAndADamagedOneIsRefused() {
        var upload = new Upload(1L << 41, "result-999999999", 1 << 30);

        assertThat(Upload.decode(ByteBuffer.wrap(upload.encode()))).isEqualTo(upload);
        assertThat(upload.encode()).hasSizeLessThanOrEqualTo(Upload.MOST_BYTES);
        assertThat(Upload.stored()).hasSize(Upload.ANSWER_BYTES);
        DamagedMessages.of(upload.encode(), bytes -> Upload.decode(ByteBuffer.wrap(bytes)));
    }
}
