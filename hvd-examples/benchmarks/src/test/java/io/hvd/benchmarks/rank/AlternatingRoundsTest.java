package io.hvd.benchmarks.rank;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.benchmarks.Samples;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AlternatingRoundsTest {
    private static final long[] SIZES = {16};

    private final PlaceInJob job = new PlaceInJob(1, 2);
    private final Floats floats = Floats.ofSizes(SIZES, job);
    private final Samples samples = new Samples();
    private final AlternatingRounds timing =
            new AlternatingRounds(floats, samples, job, 1, AlternatingRounds.WARM_NANOS);

    @Test
    void whatIsRightIsTimed() {
        timing.run(List.of(leaving(7, 9)), SIZES);

        assertThat(samples.of("scattered", 16)).hasSize(1);
    }

    @Test
    void whatIsTheOtherRanksIsNotTimed() {
        assertThatThrownBy(() -> timing.run(List.of(leaving(3, 5)), SIZES))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("scattered has computed 3.0 at element 0, expected 7.0");
        assertThat(samples.has("scattered")).isFalse();
    }

    /**
     * Gloo with more ranks than processors: 2,500 calls of 10 ms in each phase would take minutes. A slow link: a call takes a
     * second, and is the warm-up.
     */
    @ParameterizedTest
    @CsvSource({"10e6,9,5", "1e9,1,1"})
    void aSlowContenderIsWarmedUpForNoLongerThanAFastOne(float nanos, int trial, int warm) {
        MpiCalls mpi = (MpiCalls) Proxy.newProxyInstance(
                MpiCalls.class.getClassLoader(),
                new Class<?>[] {MpiCalls.class},
                (proxy, method, arguments) -> "mean".equals(method.getName()) ? nanos : null);
        AtomicInteger calls = new AtomicInteger();
        Contender counted = Contender.direct("counted", Expected.PIECE_OF_SUM, count -> {
            Runnable right = leaving(7, 9).call().apply(count);
            return () -> {
                calls.incrementAndGet();
                right.run();
            };
        });

        timing.run(List.of(counted), SIZES, mpi);

        int check = 1;
        int settling = 20;
        int timed = 200;
        assertThat(calls).hasValue(check + trial + warm + settling + timed);
    }

    private Contender leaving(float first, float second) {
        return Contender.direct(
                "scattered",
                Expected.PIECE_OF_SUM,
                count -> () -> floats.direct().putFloat(0, first).putFloat(Float.BYTES, second));
    }
}
