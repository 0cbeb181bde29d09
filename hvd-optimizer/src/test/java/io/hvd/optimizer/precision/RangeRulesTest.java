package io.hvd.optimizer.precision;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RangeRulesTest {
    private static final RangeRules RULES = new RangeRules(50, 3, 1, 2);

    @ParameterizedTest(name = "{0} on {1} ranks: 2^{2}")
    @CsvSource({
        "1, 1, 12",
        "1, 2, 11",
        "1, 3, 10",
        "1, 4, 10",
        "1.99, 4, 10",
        "2, 4, 9",
        "1e30, 2, -88",
        "1e-40, 2, 100"
    })
    void theSumOfTheGreatestStaysBelowTwoToTheThirteenth(float magnitude, int ranks, int expected) {
        int exponent = new RangeRules(1, 1, 1, ranks).exponentFor(magnitude);
        assertThat(exponent).isEqualTo(expected);
        assertThat(ranks * magnitude * Math.scalb(1.0, exponent)).isLessThan(0x1p13);
    }

    @Test
    void whatTheReductionDividesByBeforeItAddsUpNeedsNoRoom() {
        assertThat(new RangeRules(1, 1, 0.25, 4).exponentFor(1)).isEqualTo(12);
    }

    @Test
    void anOverflowMakesAGradientSmallerByTwoToTheSixthAndNotWithoutEnd() {
        assertThat(RULES.exponentAfterOverflow(11)).isEqualTo(5);
        assertThat(RULES.exponentAfterOverflow(-97)).isEqualTo(-100);
    }

    @Test
    void anOverflowThatIsAThousandStepsOldStillCountsAndAnOlderOneDoesNot() {
        assertThat(RULES.overflows(2, 1000)).isEqualTo(3);
        assertThat(RULES.overflows(2, 1001)).isEqualTo(1);
    }

    @Test
    void aGradientFallsBackAtTheNumberOfOverflows() {
        assertThat(RULES.fallsBack(2)).isFalse();
        assertThat(RULES.fallsBack(3)).isTrue();
    }

    @Test
    void afterAMagnitudeThatIsNotFiniteTheRanksLookAgainInTheNextStep() {
        assertThat(RULES.nextLook(7, true)).isEqualTo(57);
        assertThat(RULES.nextLook(7, false)).isEqualTo(8);
    }
}
