package io.hvd.transport.tcp;

import io.hvd.net.HostAddress;
import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import io.hvd.rendezvous.Rendezvous;
import io.hvd.spi.Bootstrap;
import io.hvd.spi.Topology;
import java.util.List;

/** Ranks that have met at a rendezvous, which stays open for their exchanges. */
final class TcpBootstrap implements Bootstrap, AutoCloseable {
    private final Rendezvous rendezvous;
    private final Topology topology;
    private final int generation;
    private final String why;

    /**
     * All ranks come here together.
     *
     * @param place this rank's place among those that have met
     * @param next the least number of this job, as this process sees it
     * @param why why this rank uses TCP; empty if the user has asked for it
     */
    TcpBootstrap(Rendezvous rendezvous, int place, int next, String why) {
        this.rendezvous = rendezvous;
        List<Presence> all =
                exchange(new Presence(HostAddress.node(), HostAddress.localName(), next, why).encode()).stream()
                        .map(Presence::decode)
                        .toList();
        this.topology = Topology.of(
                place,
                all.stream().map(Presence::node).toList(),
                all.stream().map(Presence::host).toList());
        this.generation = all.stream().mapToInt(Presence::next).max().orElse(next);
        this.why = all.get(0).why();
    }

    /** Why rank 0 uses TCP. The others may have other reasons, which make no other job of it. */
    String why() {
        return why;
    }

    @Override
    public Topology topology() {
        return topology;
    }

    @Override
    public int generation() {
        return generation;
    }

    @Override
    public List<byte[]> exchange(byte[] mine) {
        return rendezvous.exchange(mine);
    }

    @Override
    public void close() {
        rendezvous.close();
    }

    /** @param next the least number of the job, as the rank's process sees it */
    private record Presence(String node, String host, int next, String why) {
        byte[] encode() {
            return MessageWriter.encode(out -> {
                out.writeText(node);
                out.writeText(host);
                out.writeInt(next);
                out.writeText(why);
            });
        }

        static Presence decode(byte[] bytes) {
            return MessageReader.decode(
                    "where a rank runs",
                    bytes,
                    in -> new Presence(in.readText(), in.readText(), in.readInt(), in.readText()));
        }
    }
}
