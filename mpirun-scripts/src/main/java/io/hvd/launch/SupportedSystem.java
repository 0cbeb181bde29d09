package io.hvd.launch;

import io.hvd.launch.words.UsageException;

/** The operating systems on which the launcher starts jobs: it needs a shell, signals, and files with an owner. */
final class SupportedSystem {

    private SupportedSystem() {}

    /**
     * Refuses any other system.
     *
     * @param name as Java has it in {@code os.name}
     */
    static void require(String name) {
        if (!name.startsWith("Linux") && !name.startsWith("Mac")) {
            throw new UsageException(
                    "operating-system",
                    "jobs are started on Linux and macOS, and this is " + name
                            + ": start it inside Linux there, as in WSL or a container, or run the ranks as threads of one"
                            + " process, by Hvd.spawn");
        }
    }
}
