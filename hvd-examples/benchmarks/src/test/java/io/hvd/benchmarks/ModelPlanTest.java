package io.hvd.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.benchmarks.cost.JobShape;
import java.util.List;
import java.util.Map;
import org.apache.commons.cli.ParseException;
import org.junit.jupiter.api.Test;

/** What the model's own flags mean. */
class ModelPlanTest {
    private static final List<Long> SIZES = List.of(64L, 256L, 1024L, 4096L, 16384L);

    @Test
    void theModelIsCheckedWithSizesThatItIsNotMadeOf() throws ParseException {
        assertThat(plan(Map.of()).checkSizes()).containsExactly(128L, 2048L).doesNotContainAnyElementsOf(SIZES);
        assertThat(plan(Map.of("check-sizes", "8K")).checkSizes()).containsExactly(8192L);
        assertThatThrownBy(() -> plan(Map.of("check-sizes", "8K,4K")))
                .isInstanceOf(ParseException.class)
                .hasMessageContainingAll("--check-sizes has 4096", "64,256,1024");
    }

    @Test
    void hostListsBecomeJobsBesideThoseOfThisHost() throws ParseException {
        ModelPlan plan = plan(Map.of("hosts", "a:1,b:1/a:2,b:2", "check-hosts", "a:1,b:1,c:1", "check-ranks", "3"));

        assertThat(plan.calibration().stream().map(ModelJob::shape))
                .containsExactly(new JobShape(2, 1), new JobShape(2, 2), new JobShape(4, 2));
        assertThat(plan.check().stream().map(ModelJob::shape)).containsExactly(new JobShape(3, 1), new JobShape(3, 3));
        assertThat(plan.calibration().get(2).words()).containsExactly("-np", "4", "-H", "a:2,b:2");
        assertThatThrownBy(() -> plan(Map.of("hosts", "a:1,b")))
                .isInstanceOf(ParseException.class)
                .hasMessageContaining("\"b\", expected a name and its ranks");
        assertThatThrownBy(() -> plan(Map.of("hosts", "a:3,b:1")))
                .isInstanceOf(ParseException.class)
                .hasMessageContaining("\"b:1\", expected 3 ranks, as on the first host");
    }

    @Test
    void jobsToPredictAreHostsTimesRanksAndRatesAreBitsPerSecond() throws ParseException {
        ModelPlan plan = plan(Map.of("model", "m.json", "predict", "8x4,1250x8", "rates", "47.8M,9.41G", "cores", "8"));

        assertThat(plan.predict()).containsExactly(new JobShape(32, 8), new JobShape(10_000, 1250));
        assertThat(plan.rates()).containsExactly(47.8e6 / 8, 9.41e9 / 8);
        assertThat(plan.ownCores()).isEqualTo(8);
        assertThat(plan.measures()).as("a model and nothing to check").isFalse();
        assertThat(plan(Map.of()).rates()).containsExactly(Double.POSITIVE_INFINITY);
        assertThatThrownBy(() -> plan(Map.of("predict", "8x")))
                .isInstanceOf(ParseException.class)
                .hasMessageContaining("\"8x\", expected hosts x ranks");
        assertThatThrownBy(() -> plan(Map.of("rates", "1G,0.0M")))
                .isInstanceOf(ParseException.class)
                .hasMessageContaining("\"0.0M\", expected bits per second");
    }

    @Test
    void aModelThatIsGivenIsCheckedWithJobsThatAreNamedOnly() throws ParseException {
        ModelPlan plan = plan(Map.of("model", "m.json", "check-hosts", "a:2,b:2", "check-sizes", "4K", "link", "200M"));

        assertThat(plan.calibration()).isEmpty();
        assertThat(plan.check().stream().map(ModelJob::shape)).containsExactly(new JobShape(4, 2));
        assertThat(plan.checkSizes()).as("nothing is fitted to --sizes").containsExactly(4096L);
        assertThat(plan.linkBytesPerSecond()).isEqualTo(25e6);
        assertThat(plan.measures()).isTrue();
    }

    private static ModelPlan plan(Map<String, String> own) throws ParseException {
        return ModelPlan.of(new MeasurementPlan(List.of(2), SIZES, 1, 1, "", "horovodrun", own));
    }
}
