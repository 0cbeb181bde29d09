package io.hvd.net;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The ports at which hvd's sockets may listen. Processes of a host share a range: each takes the first port that is free
 * when it asks.
 *
 * @param first 0 in {@link #ANY} alone
 * @param last not less than the first
 */
public record PortRange(int first, int last) {
    /** The environment variable that holds a range. */
    public static final String VARIABLE = "HVD_PORT_RANGE";

    /** Whatever port the system chooses. */
    public static final PortRange ANY = new PortRange(0, 0);

    private static final int LARGEST = 65_535;
    private static final Pattern TEXT = Pattern.compile("(\\d{1,5})-(\\d{1,5})");

    /** Reads a text such as 20000-20099; empty if it is no range of ports. */
    public static Optional<PortRange> parse(String text) {
        Matcher parts = TEXT.matcher(text);
        if (!parts.matches()) {
            return Optional.empty();
        }
        PortRange range = new PortRange(Integer.parseInt(parts.group(1)), Integer.parseInt(parts.group(2)));
        return range.first > 0 && range.first <= range.last && range.last <= LARGEST
                ? Optional.of(range)
                : Optional.empty();
    }

    /** Opens a socket at an address. */
    public interface Opening<S> {
        /** @throws BindException if another socket has the port */
        S at(InetSocketAddress address) throws IOException;
    }

    /**
     * Opens a socket at the first free port.
     *
     * @throws BindException if there is none; its message names the range, and why which ports are refused
     */
    public <S> S open(InetAddress host, Opening<S> opening) throws IOException {
        if (equals(ANY)) {
            return opening.at(new InetSocketAddress(host, 0));
        }
        Map<String, PortRange> refused = new LinkedHashMap<>();
        for (int port = first; port <= last; port++) {
            try {
                return opening.at(new InetSocketAddress(host, port));
            } catch (BindException e) {
                refused.merge(e.getMessage(), new PortRange(port, port), (some, one) -> some.upTo(one.last));
            }
        }
        throw new BindException("no port of " + VARIABLE + "=" + this + " is free at " + HostAddress.digits(host) + ": "
                + refused.entrySet().stream()
                        .map(one -> one.getValue() + " " + one.getKey())
                        .collect(Collectors.joining("; ")));
    }

    private PortRange upTo(int port) {
        return new PortRange(first, port);
    }

    @Override
    public String toString() {
        return first + "-" + last;
    }
}
