package io.hvd.elastic;

import java.util.Set;

/** What happens to the workers of an elastic job. Each worker has a number that no other process of the job ever has. */
sealed interface ElasticEvent {
    /** The launcher starts a worker, which may take its time. */
    record Started(int worker, String host) implements ElasticEvent {}

    /** A worker has called {@code Elastic.run} and waits for its first generation. */
    record Joined(int worker, String host) implements ElasticEvent {}

    /**
     * A member has left its generation and waits for the next one.
     *
     * @param generation the number of the generation that it has left
     * @param step how many steps its state has seen
     * @param done whether its program has ended, so that it asks for no more steps
     * @param unreachable workers whose hosts have disappeared, as its monitor has found
     */
    record Ready(int worker, int generation, long step, boolean done, Set<Integer> unreachable)
            implements ElasticEvent {
        public Ready {
            unreachable = Set.copyOf(unreachable);
        }
    }

    /** A worker is to end soon, such as after SIGTERM, and asks to leave at the end of a step. */
    record Leaving(int worker) implements ElasticEvent {}

    /** A worker's process has ended, or its connection has. */
    record Ended(int worker, String why) implements ElasticEvent {}

    /** A worker has given a sign of life. */
    record Heard(int worker) implements ElasticEvent {}

    /** Time has passed. */
    record Tick() implements ElasticEvent {}
}
