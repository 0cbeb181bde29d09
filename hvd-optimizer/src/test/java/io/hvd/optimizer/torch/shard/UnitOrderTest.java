package io.hvd.optimizer.torch.shard;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class UnitOrderTest {
    private final UnitOrder<String> order = new UnitOrder<>();

    private void pass(String... units) {
        for (String unit : units) {
            order.called(unit, true);
        }
        order.passed();
    }

    @Test
    void theFirstPassKnowsNoNextUnitAndTheSecondOneDoes() {
        assertThat(order.first()).isEmpty();
        assertThat(order.called("a", true)).isEmpty();
        assertThat(order.called("b", true)).isEmpty();
        order.passed();

        assertThat(order.first()).contains("a");
        assertThat(order.called("a", true)).contains("b");
        assertThat(order.called("b", true)).isEmpty();
    }

    @Test
    void aUnitThatIsCalledTwiceIsFollowedByWhatComesAfterEachCall() {
        pass("a", "b", "a", "c");

        assertThat(order.called("a", true)).contains("b");
        assertThat(order.called("b", true)).contains("a");
        assertThat(order.called("a", true)).contains("c");
        assertThat(order.called("c", true)).isEmpty();
        assertThat(order.reached("c")).contains("a");
        assertThat(order.reached("a")).contains("b");
        assertThat(order.reached("b")).contains("a");
        assertThat(order.reached("a")).isEmpty();
        assertThat(order.called()).containsExactly("c", "a", "b");
    }

    @Test
    void anotherOrderIsLearntAndAnEvaluationTeachesNothing() {
        pass("a", "b", "c");
        assertThat(order.called("c", false)).isEmpty();
        assertThat(order.called("a", false)).contains("b");
        assertThat(order.called()).isEmpty();
        order.passed();
        assertThat(order.called("unknown", false)).isEmpty();

        pass("b", "a");
        assertThat(order.called("b", true)).contains("a");
        assertThat(order.called("c", true)).isEmpty();
    }

    @Test
    void callsThatHaveFailedAreForgotten() {
        pass("a", "b");
        order.called("a", true);
        order.forget();

        assertThat(order.called()).isEmpty();
        assertThat(order.reached("a")).isEmpty();
        assertThat(order.called("a", true)).contains("b");
    }
}
