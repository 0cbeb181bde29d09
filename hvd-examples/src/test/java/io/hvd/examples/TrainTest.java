package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The answer of train.jar to names that it does not know. */
class TrainTest {
    @Test
    void theExampleThatAMistypedNameMeansIsNamed() throws Exception {
        TrainHere run = TrainHere.run("cifar", "--preset", "quick");

        assertThat(run.exitCode()).isEqualTo(2);
        assertThat(run.output())
                .startsWith("there is no example \"cifar\"; did you mean cifar10? There are [digits, mnist, ");
        assertThat(TrainHere.run("sythetic-benchmark").output()).contains("; did you mean synthetic-benchmark?");
    }

    @Test
    void aNameThatIsLikeNoneGetsTheListOnly() throws Exception {
        assertThat(TrainHere.run("bert").output())
                .startsWith("there is no example \"bert\". There are [digits, ")
                .doesNotContain("did you mean");
    }
}
