package io.hvd.elastic;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** What a worker tells the coordinator. */
sealed interface WorkerMessage {
    /** The most bytes of one. */
    int MOST_BYTES = 1 << 20;

    /** The first message: where it runs. */
    record Join(String host) implements WorkerMessage {}

    /** It has left a generation and waits for the next one. */
    record Ready(int generation, long step, boolean done, Set<Integer> unreachable) implements WorkerMessage {}

    /** It asks to leave at the end of a step. */
    record Leaving() implements WorkerMessage {}

    /** It is about to end. */
    record Failed(String why) implements WorkerMessage {}

    /** It lives. */
    record Alive() implements WorkerMessage {}

    /** The order of the kinds is that of their numbers. */
    enum Kind {
        JOIN,
        READY,
        LEAVING,
        FAILED,
        ALIVE
    }

    default byte[] encode() {
        return MessageWriter.encode(out -> {
            if (this instanceof Join join) {
                out.writeEnum(Kind.JOIN);
                out.writeText(join.host());
            } else if (this instanceof Ready ready) {
                out.writeEnum(Kind.READY);
                out.writeInt(ready.generation());
                out.writeLong(ready.step());
                out.writeBoolean(ready.done());
                out.writeList(List.copyOf(ready.unreachable()), MessageWriter::writeInt);
            } else if (this instanceof Failed failed) {
                out.writeEnum(Kind.FAILED);
                out.writeText(failed.why());
            } else {
                out.writeEnum(this instanceof Leaving ? Kind.LEAVING : Kind.ALIVE);
            }
        });
    }

    static WorkerMessage decode(byte[] bytes) {
        return MessageReader.decode("the message of an elastic worker", bytes, in -> switch (in.readEnum(Kind.class)) {
            case JOIN -> new Join(in.readText());
            case READY ->
                new Ready(
                        in.readInt(),
                        in.readLong(),
                        in.readBoolean(),
                        new HashSet<>(in.readList(MessageReader::readInt)));
            case LEAVING -> new Leaving();
            case FAILED -> new Failed(in.readText());
            case ALIVE -> new Alive();
        });
    }
}
