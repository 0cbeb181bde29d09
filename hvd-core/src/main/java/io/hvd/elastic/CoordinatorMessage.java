package io.hvd.elastic;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import java.util.List;

/** What the coordinator tells a worker. */
sealed interface CoordinatorMessage {
    /** The most bytes of one: a host and a number per rank. */
    int MOST_BYTES = 1 << 24;

    /**
     * A generation begins.
     *
     * @param number its number
     * @param rank the worker's rank in it
     * @param root the rank whose state all take
     * @param workers the workers by rank
     * @param hosts their hosts, by rank
     * @param meeting where its ranks meet
     */
    record Begin(int number, int rank, int root, List<Integer> workers, List<String> hosts, String meeting)
            implements CoordinatorMessage {
        public Begin {
            workers = List.copyOf(workers);
            hosts = List.copyOf(hosts);
        }
    }

    /** The generation is to end after a step. */
    record Interrupt(int generation) implements CoordinatorMessage {}

    /** The generation cannot go on. */
    record Abandon(int generation, String why) implements CoordinatorMessage {}

    /** The worker is let go. @param why empty if all is well */
    record Release(String why) implements CoordinatorMessage {}

    /** The coordinator lives. */
    record Alive() implements CoordinatorMessage {}

    /** The order of the kinds is that of their numbers. */
    enum Kind {
        BEGIN,
        INTERRUPT,
        ABANDON,
        RELEASE,
        ALIVE
    }

    default byte[] encode() {
        return MessageWriter.encode(out -> {
            if (this instanceof Begin begin) {
                out.writeEnum(Kind.BEGIN);
                out.writeInt(begin.number());
                out.writeInt(begin.rank());
                out.writeInt(begin.root());
                out.writeList(begin.workers(), MessageWriter::writeInt);
                out.writeList(begin.hosts(), MessageWriter::writeText);
                out.writeText(begin.meeting());
            } else if (this instanceof Interrupt interrupt) {
                out.writeEnum(Kind.INTERRUPT);
                out.writeInt(interrupt.generation());
            } else if (this instanceof Abandon abandon) {
                out.writeEnum(Kind.ABANDON);
                out.writeInt(abandon.generation());
                out.writeText(abandon.why());
            } else if (this instanceof Release release) {
                out.writeEnum(Kind.RELEASE);
                out.writeText(release.why());
            } else {
                out.writeEnum(Kind.ALIVE);
            }
        });
    }

    static CoordinatorMessage decode(byte[] bytes) {
        return MessageReader.decode("the message of an elastic job's coordinator", bytes, in -> switch (in.readEnum(
                Kind.class)) {
            case BEGIN ->
                new Begin(
                        in.readInt(),
                        in.readInt(),
                        in.readInt(),
                        in.readList(MessageReader::readInt),
                        in.readList(MessageReader::readText),
                        in.readText());
            case INTERRUPT -> new Interrupt(in.readInt());
            case ABANDON -> new Abandon(in.readInt(), in.readText());
            case RELEASE -> new Release(in.readText());
            case ALIVE -> new Alive();
        });
    }
}
