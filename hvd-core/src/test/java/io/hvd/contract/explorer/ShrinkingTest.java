package io.hvd.contract.explorer;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.contract.program.Ending;
import io.hvd.contract.program.Program;
import io.hvd.contract.program.ProgramGenerator;
import io.hvd.contract.program.ProgramId;
import io.hvd.contract.program.ProgramId.Pace;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ShrinkingTest {
    private static final long SECONDS = 60;

    @Test
    void whatAProgramFailsWithoutIsLeftOut() {
        Program program = ProgramGenerator.write(ProgramId.of(Pace.QUICK, 5), 3);
        List<Integer> strands = List.copyOf(program.strands());
        Set<Integer> guilty = Set.of(strands.get(1), strands.get(strands.size() - 2));

        Program small = Shrinking.of(program, candidate -> candidate.strands().containsAll(guilty), SECONDS);

        // Beside the guilty ones only what they cannot be without.
        assertThat(small.strands()).containsAll(guilty).hasSizeLessThan(6);
        assertThat(Ending.isReached(small.ops(), small.scripts())).isTrue();
    }

    @Test
    void aProgramThatFailsAsAWholeOnlyStaysWhole() {
        Program program = ProgramGenerator.write(ProgramId.of(Pace.SLOW, 3), 2);

        assertThat(Shrinking.of(program, candidate -> false, SECONDS)).isEqualTo(program);
    }
}
