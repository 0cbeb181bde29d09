package io.hvd.contract.explorer;

import io.hvd.contract.program.Program;
import io.hvd.contract.program.ProgramId;
import java.util.List;

/** Ranks that play programs. */
public interface Team {
    Composition composition();

    /** One program, and nothing else meanwhile that this team knows of. */
    Outcome run(Program program);

    /**
     * Programs whose seeds follow each other and whose settings are the same.
     *
     * @param seconds after which no other one begins
     */
    List<Outcome> runSome(ProgramId first, int count, long seconds);
}
