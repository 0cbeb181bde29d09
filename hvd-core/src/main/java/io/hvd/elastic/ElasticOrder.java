package io.hvd.elastic;

import java.util.List;

/** What the coordinator of an elastic job wants done. */
sealed interface ElasticOrder {
    /**
     * Begins a generation.
     *
     * @param number higher than that of any before
     * @param members the workers by rank
     * @param root the rank whose state all take
     */
    record Form(int number, List<Integer> members, int root) implements ElasticOrder {
        public Form {
            members = List.copyOf(members);
        }
    }

    /** Asks the members of a generation to leave it together at the end of a step. */
    record Interrupt(int generation, List<Integer> members) implements ElasticOrder {
        public Interrupt {
            members = List.copyOf(members);
        }
    }

    /** Tells members that their generation cannot go on, for those that have not found out themselves. */
    record Abandon(int generation, List<Integer> members, String why) implements ElasticOrder {
        public Abandon {
            members = List.copyOf(members);
        }
    }

    /**
     * Lets a worker go.
     *
     * @param wanted whether it ends as it should; otherwise the job goes on without it, and {@code why} says the reason
     */
    record Release(int worker, boolean wanted, String why) implements ElasticOrder {}

    /** Ends the job. @param failure why it has failed; empty if all members' programs have ended */
    record Finish(String failure) implements ElasticOrder {}

    /** Tells the user. */
    record Say(String sentence) implements ElasticOrder {}
}
