package io.hvd.engine.tuning;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.engine.message.Requests;
import io.hvd.engine.message.Tunable;
import io.hvd.engine.submission.Ops;
import io.hvd.engine.submission.PendingOp;
import io.hvd.engine.submission.TensorQueue;
import io.hvd.trace.FlightRecorder;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Two operations, each in a batch of its own, on ranks that share cores. */
class StepStudyTest {
    private static final List<List<String>> ONE_BY_ONE = List.of(List.of("a"), List.of("b"));
    /** More than are looked at. */
    private static final int STEPS = 600;

    private final TensorQueue queue = new TensorQueue(1, 1);
    private final FlightRecorder recorder = new FlightRecorder(4);
    private final StepStudy study = new StepStudy(Requests.settings(1 << 20, 0), true);

    private PendingOp submitted(String name) {
        PendingOp op = Ops.op(queue, 0, Requests.sum(name, 4), null, recorder);
        recorder.submitted(List.of(op));
        return op;
    }

    /** @return what was proposed first */
    private Optional<List<List<String>>> steps(Runnable between, Runnable after) {
        study.begin(ONE_BY_ONE);
        for (int i = 0; i < STEPS; i++) {
            PendingOp a = submitted("a");
            between.run();
            PendingOp b = submitted("b");
            after.run();
            for (PendingOp op : List.of(a, b)) {
                Optional<List<List<String>>> found =
                        study.ran(List.of(op), System.nanoTime(), System.nanoTime() + 1000, ONE_BY_ONE);
                if (found.isPresent()) {
                    return found;
                }
            }
        }
        return Optional.empty();
    }

    @Test
    void whatTheProgramWaitsForAtTheEndGoesTogether() {
        assertThat(steps(() -> {}, () -> study.observed("a"))).contains(List.of(List.of("a", "b")));
    }

    private static Tunable threshold(long bytes) {
        return new Tunable(bytes, 0, 0, 0);
    }

    /** However late the batch of the first one runs. */
    @Test
    void whatTheProgramHasWaitedForStaysApartFromWhatItSubmitsThen() {
        assertThat(steps(() -> study.observed("a"), () -> study.observed("b"))).isEmpty();
    }

    @Test
    void theCutOfAnotherThresholdIsKnownFromTheFirstLookOn() {
        study.begin(ONE_BY_ONE);
        assertThat(study.cut(threshold(8))).isEmpty();
        steps(() -> {}, () -> study.observed("a"));

        assertThat(study.hasLooked()).isTrue();
        assertThat(study.cut(threshold(8))).containsExactly(List.of("a", "b"));
        assertThat(study.cut(threshold(4))).isEqualTo(ONE_BY_ONE);
        study.tune(threshold(4));
        assertThat(steps(() -> {}, () -> study.observed("a")))
                .as("the second look")
                .isEmpty();
    }

    /** Under other buckets gradients come in another rhythm, and between levels batches take other times. */
    @Test
    void settingsUnderWhichStepsRunInAnotherWayAreLookedAtOnceEach() {
        Tunable start = threshold(1 << 20);
        Tunable smallBuckets = new Tunable(1 << 20, 0, 4, 0);
        study.begin(ONE_BY_ONE);
        steps(() -> {}, () -> study.observed("a"));
        study.keepStill(true);

        study.tune(smallBuckets);
        assertThat(study.hasLooked()).isFalse();
        assertThat(study.cut(smallBuckets)).isEmpty();
        assertThat(study.cut(start)).as("is still known").isNotEmpty();
        study.begin(ONE_BY_ONE);
        steps(() -> {}, () -> study.observed("a"));
        assertThat(study.hasLooked()).isTrue();
        assertThat(study.cut(smallBuckets)).isNotEmpty();

        study.tune(start);
        assertThat(study.hasLooked()).isTrue();
        study.tune(new Tunable(1 << 20, 0, 0, 1));
        assertThat(study.hasLooked()).as("with another number of levels").isFalse();
    }

    /** The ranks may settle in the middle of the program's step, after a barrier for one. */
    @Test
    void aPlanThatBeginsAtAnotherPlaceOfTheStepIsLookedAtAnew() {
        steps(() -> {}, () -> study.observed("a"));
        study.begin(ONE_BY_ONE);
        assertThat(study.hasLooked()).as("the cut that was found").isTrue();

        study.begin(List.of(List.of("b"), List.of("a")));
        assertThat(study.hasLooked()).isFalse();
        assertThat(steps(() -> {}, () -> study.observed("a")))
                .as("a first look")
                .isPresent();
    }

    @Test
    void itProposesNothingWhileOtherSettingsAreTried() {
        study.tune(threshold(4));
        assertThat(steps(() -> {}, () -> study.observed("a"))).isEmpty();
        study.tune(threshold(8));
        study.startAnew();
        study.keepStill(true);
        assertThat(steps(() -> {}, () -> study.observed("a")))
                .as("the first look")
                .isPresent();
        assertThat(steps(() -> {}, () -> study.observed("a"))).isEmpty();
        study.keepStill(false);
        assertThat(steps(() -> {}, () -> study.observed("a")))
                .as("the second look")
                .isPresent();
    }
}
