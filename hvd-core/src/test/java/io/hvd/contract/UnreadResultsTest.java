package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

/** The lines go to standard error through the logging of the tests. */
class UnreadResultsTest {
    @Test
    void aResultThatNobodyReadsIsNamedWithItsLineAndOneThatIsReadIsNot() throws Exception {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream before = System.err;
        System.setErr(new PrintStream(printed, true, StandardCharsets.UTF_8));
        try {
            Hvd.spawn(2, hvd -> {
                hvd.allreduce("thrown.away", Tensor.of(1f));
                float read =
                        hvd.allreduce("taken", Tensor.of((float) hvd.rank())).item();
                hvd.allreduceInPlace("in.place", Tensor.of(1f), AllreduceOptions.sum());
                for (int step = 0; step < 3; step++) {
                    hvd.allreduce("taken", Tensor.of(1f)); // the first one of this name has been read
                    hvd.allreduce(null, Tensor.of(1f));
                }
                Instant limit = Instant.now().plus(Duration.ofSeconds(20));
                float done = 0;
                while (done == 0) {
                    System.gc();
                    boolean named = text(printed).contains("thrown.away")
                            && text(printed).contains("allreduce.noname.");
                    Tensor mine = Tensor.of(named || Instant.now().isAfter(limit) ? 1f : 0f);
                    // Its result looks for those before.
                    done = hvd.allreduce("looking", mine, AllreduceOptions.of(ReduceOp.MAX))
                            .item();
                }
                return read;
            });
        } finally {
            System.setErr(before);
        }
        assertThat(text(printed))
                .contains("thrown.away", "allreduce.noname.", "UnreadResultsTest.java:")
                .doesNotContain("taken")
                .doesNotContain("looking")
                .doesNotContain("in.place");
    }

    private static String text(ByteArrayOutputStream printed) {
        return printed.toString(StandardCharsets.UTF_8);
    }
}
