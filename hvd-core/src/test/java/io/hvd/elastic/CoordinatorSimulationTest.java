package io.hvd.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.hvd.elastic.ElasticOrder.Abandon;
import io.hvd.elastic.ElasticOrder.Finish;
import io.hvd.elastic.ElasticOrder.Form;
import io.hvd.elastic.ElasticOrder.Interrupt;
import io.hvd.elastic.ElasticOrder.Release;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Elastic jobs in virtual time, in which workers are killed, stopped, cut off, told to leave and added at any time. A seed
 * that fails is in the message, with the job's history, and fails again by {@code SimulatedJob.run(seed, tally)}.
 */
class CoordinatorSimulationTest {
    private static final int EVERY_DAY = 2_000;
    private static final int FOR_LONG = 100_000;
    private static final int UNTIL_FOUND = 1_000;

    @Test
    void whateverHappensToWorkersTheJobGoesOnOrEndsForATrueReason() {
        SimulationTally tally = simulate(0, EVERY_DAY);

        assertThat(tally.of("schedules")).isEqualTo(EVERY_DAY);
        assertThat(tally.of("successes")).as(tally.toString()).isGreaterThan(EVERY_DAY / 2);
        assertThat(tally.of("failures")).as(tally.toString()).isGreaterThan(EVERY_DAY / 20);
        assertThat(tally.of("regroups")).as(tally.toString()).isGreaterThan(EVERY_DAY / 2);
    }

    @Test
    @Tag("long")
    void itDoesInManyMoreSchedules() {
        SimulationTally tally = simulate(EVERY_DAY, FOR_LONG);

        assertThat(tally.of("schedules")).isEqualTo(FOR_LONG);
        System.out.println("simulated elastic jobs: " + tally);
    }

    private static SimulationTally simulate(long firstSeed, int count) {
        SimulationTally tally = new SimulationTally();
        LongStream.range(firstSeed, firstSeed + count).forEach(seed -> SimulatedJob.run(seed, tally));
        return tally;
    }

    @Test
    void theSameSeedGivesTheSameJob() {
        for (long seed = 0; seed < 20; seed++) {
            assertThat(simulate(seed, 1)).hasToString(simulate(seed, 1).toString());
        }
    }

    /** What a coordinator could do wrong, and the sentence that says so. */
    enum Mistake {
        ANOTHER_ROOT("the newest state|the training goes back|the training begins again") {
            @Override
            ElasticOrder make(ElasticOrder order) {
                return order instanceof Form form
                        ? new Form(
                                form.number(),
                                form.members(),
                                (form.root() + 1) % form.members().size())
                        : order;
            }
        },
        OTHER_RANKS("has moved") {
            @Override
            ElasticOrder make(ElasticOrder order) {
                if (order instanceof Form form) {
                    List<Integer> members = new ArrayList<>(form.members());
                    Collections.swap(members, 0, members.size() - 1);
                    int root = members.indexOf(form.members().get(form.root()));
                    return new Form(form.number(), members, root);
                }
                return order;
            }
        },
        A_MEMBER_LEFT_OUT("is left out") {
            @Override
            ElasticOrder make(ElasticOrder order) {
                return order instanceof Form form
                                && form.number() > 0
                                && form.members().size() > 1
                                && form.root() == 0
                        ? new Form(
                                form.number(),
                                form.members().subList(0, form.members().size() - 1),
                                0)
                        : order;
            }
        },
        NO_GENERATION_AFTER_THE_FIRST("no generation") {
            @Override
            ElasticOrder make(ElasticOrder order) {
                return order instanceof Form form && form.number() > 0 ? null : order;
            }
        },
        NOBODY_IS_TOLD_OF_A_FAILURE("has to go although|no generation|enough ranks are there|has failed although") {
            @Override
            ElasticOrder make(ElasticOrder order) {
                return order instanceof Abandon ? null : order;
            }
        },
        NOBODY_IS_INTERRUPTED("does not grow|is not let go") {
            @Override
            ElasticOrder make(ElasticOrder order) {
                return order instanceof Interrupt ? null : order;
            }
        },
        A_MEMBER_IS_TURNED_OUT("has to go although") {
            @Override
            ElasticOrder make(ElasticOrder order) {
                return order instanceof Release release ? new Release(release.worker(), false, "no reason") : order;
            }
        },
        A_FAILURE_FOR_NO_REASON("enough ranks are there|the job ends before the limit") {
            @Override
            ElasticOrder make(ElasticOrder order) {
                return order instanceof Finish ? new Finish("too few (--min-np)") : order;
            }
        };

        private final String found;

        Mistake(String found) {
            this.found = found;
        }

        /** The order with the mistake, or null if it is forgotten. */
        abstract ElasticOrder make(ElasticOrder order);
    }

    @ParameterizedTest
    @EnumSource
    void theSimulationFindsACoordinatorsMistakes(Mistake mistake) {
        UnaryOperator<List<ElasticOrder>> wrong = orders ->
                orders.stream().map(mistake::make).filter(Objects::nonNull).toList();

        List<String> findings = LongStream.range(0, UNTIL_FOUND)
                .mapToObj(seed -> catchThrowable(() -> SimulatedJob.run(seed, new SimulationTally(), wrong)))
                .filter(Objects::nonNull)
                .map(Throwable::getMessage)
                .limit(20)
                .toList();

        assertThat(findings)
                .anySatisfy(message -> assertThat(message.lines().findFirst().orElseThrow())
                        .containsPattern("seed \\d+, after \\d+ ms: ")
                        .containsPattern(mistake.found));
    }

    @Test
    @Tag("long")
    void whatARegroupCosts() {
        System.out.println(
                "workers | messages to the coordinator | from it | regroup, us | a second of signs of life, us");
        for (int workers = 64; workers <= 1_024; workers *= 2) {
            RegroupCost cost = RegroupCost.of(workers);
            assertThat(cost.toIt()).isEqualTo(cost.members());
            assertThat(cost.fromIt()).isBetween(2 * cost.members(), 2 * workers);
            System.out.println(workers + " | " + cost.toIt() + " | " + cost.fromIt() + " | " + cost.micros() + " | "
                    + cost.secondMicros());
        }
    }
}
