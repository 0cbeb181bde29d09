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
    }

    private static ModelPlan plan(Map<String, String> own) throws ParseException {
        return ModelPlan.of(new MeasurementPlan(List.of(2), SIZES, 1, 1, "", "horovodrun", own));
    }
}
