package io.hvd.contract.program;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.contract.program.Action.Act;
import io.hvd.contract.program.ProgramId.Pace;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class ProgramGeneratorTest {
    private static final int SEEDS = 30;
    private static final int MANY_SEEDS = 500;
    /** As many as it takes for the rarest act to come up. */
    private static final int DRAWN_SEEDS = 150;

    @Test
    void theSameSeedGivesTheSameProgram() {
        for (Pace pace : Pace.values()) {
            Program one = ProgramGenerator.write(ProgramId.of(pace, 12), 3);
            Program other = ProgramGenerator.write(ProgramId.of(pace, 12), 3);

            assertThat(one).isEqualTo(other);
            assertThat(one).isNotEqualTo(ProgramGenerator.write(ProgramId.of(pace, 13), 3));
        }
    }

    /** A program that could never end would blame hvd for it; the generator throws instead. */
    @Test
    void everyProgramComesToItsEnd() {
        requireEnds(SEEDS);
    }

    @Test
    @Tag("long")
    void everyOneOfManyProgramsComesToItsEnd() {
        requireEnds(MANY_SEEDS);
    }

    private static void requireEnds(int seeds) {
        for (int ranks = 1; ranks <= 6; ranks++) {
            for (long seed = 0; seed < seeds; seed++) {
                for (Pace pace : Pace.values()) {
                    Program program = ProgramGenerator.write(ProgramId.of(pace, seed), ranks);

                    assertThat(program.scripts()).hasSize(ranks);
                    assertThat(Ending.isReached(program.ops(), program.scripts()))
                            .as(program.id() + " for " + ranks)
                            .isTrue();
                }
            }
        }
    }

    @Test
    void everyKindOfOperationEveryMistakeAndEveryActIsDrawn() {
        Set<Kind> kinds = EnumSet.noneOf(Kind.class);
        Set<Op.Flaw.What> flaws = EnumSet.noneOf(Op.Flaw.What.class);
        Set<Act> acts = EnumSet.noneOf(Act.class);
        for (long seed = 0; seed < DRAWN_SEEDS; seed++) {
            Program program = ProgramGenerator.write(ProgramId.of(Pace.QUICK, seed), 4);
            program.ops().forEach(op -> {
                kinds.add(op.kind());
                flaws.add(op.flaw().what());
            });
            program.scripts().forEach(script -> script.forEach(action -> acts.add(action.act())));
        }
        assertThat(kinds).containsExactlyInAnyOrder(Kind.values());
        assertThat(flaws).containsExactlyInAnyOrder(Op.Flaw.What.values());
        assertThat(acts).containsExactlyInAnyOrder(Act.values());
    }

    @Test
    void aRankThatNeverAsksKeepsAProgramFromItsEnd() {
        Program program = ProgramGenerator.write(ProgramId.of(Pace.QUICK, 1), 2);

        assertThat(Ending.isReached(program.ops(), List.of(program.scripts().get(0), List.of())))
                .isFalse();
    }

    @Test
    void whatALeftOutStrandIsNeededForIsLeftOutToo() {
        Program program = ProgramGenerator.write(ProgramId.of(Pace.QUICK, 1), 3);
        int needed = program.needs().values().iterator().next().iterator().next();

        Program smaller = program.without(List.of(needed));

        Set<Integer> gone = new TreeSet<>(program.strands());
        gone.removeAll(smaller.strands());
        assertThat(gone).hasSizeGreaterThan(1).contains(needed);
        assertThat(ProgramId.of(smaller.id().toString())).isEqualTo(smaller.id());
        assertThat(ProgramGenerator.write(smaller.id(), 3).scripts()).isEqualTo(smaller.scripts());
    }

    @Test
    void aDraftThatWouldNeverEndIsReplacedByAnother() {
        for (int[] seed : new int[][] {{2, 3}, {1759, 2}, {1851, 4}}) {
            Program program = ProgramGenerator.write(ProgramId.of(Pace.QUICK, 14_363_350_000L + seed[0]), seed[1]);
            assertThat(Ending.isReached(program.ops(), program.scripts())).isTrue();
        }
    }
}
