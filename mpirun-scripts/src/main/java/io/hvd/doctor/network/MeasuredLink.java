package io.hvd.doctor.network;

/**
 * What came of a connection from one host to an address of another.
 *
 * @param network the interface of the host it leads to
 * @param obstacle why there is none; empty if there is one, and only then the numbers count
 * @param roundTripMicros median time of a small message there and back
 * @param bytesPerSecond the bandwidth in one direction
 * @param clockAheadMicros how much the clock of the host it leads to is ahead
 */
public record MeasuredLink(
        String from,
        String to,
        String network,
        String address,
        String obstacle,
        double roundTripMicros,
        double bytesPerSecond,
        double clockAheadMicros) {

    public static MeasuredLink refused(String from, String to, ListeningPort port, String obstacle) {
        return new MeasuredLink(from, to, port.network(), port.address(), obstacle, 0, 0, 0);
    }

    public boolean open() {
        return obstacle.isEmpty();
    }
}
