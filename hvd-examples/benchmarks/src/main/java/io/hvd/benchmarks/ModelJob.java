package io.hvd.benchmarks;

import io.hvd.benchmarks.cost.JobShape;
import java.util.List;
import java.util.Optional;
import org.apache.commons.cli.ParseException;

/**
 * A job whose allreduces are timed.
 *
 * @param hosts the host list for the launcher; empty for this host alone
 */
record ModelJob(JobShape shape, Optional<String> hosts) {
    static ModelJob here(int ranks) {
        return new ModelJob(new JobShape(ranks, 1), Optional.empty());
    }

    /** @param list such as {@code a:2,b:2}, with as many ranks on each host */
    static ModelJob on(String list) throws ParseException {
        int ranks = 0;
        String[] hosts = list.split(",");
        for (String host : hosts) {
            if (!host.matches("[^:]+:[1-9]\\d{0,5}")) {
                throw new ParseException("the host list \"" + list + "\" has \"" + host
                        + "\", expected a name and its ranks, as in a:2");
            }
            ranks += ranksOf(host);
        }
        for (String host : hosts) {
            if (ranksOf(host) != ranksOf(hosts[0])) {
                throw new ParseException("the host list \"" + list + "\" has \"" + host + "\", expected "
                        + ranksOf(hosts[0])
                        + " ranks, as on the first host: the model has no formula for hosts of unlike"
                        + " numbers, where one rank carries all of its host's data");
            }
        }
        return new ModelJob(new JobShape(ranks, hosts.length), Optional.of(list));
    }

    private static int ranksOf(String host) {
        return Integer.parseInt(host.substring(host.indexOf(':') + 1));
    }

    /** The launcher's arguments for this job. */
    List<String> words() {
        String ranks = Integer.toString(shape.ranks());
        return hosts.map(list -> List.of("-np", ranks, "-H", list)).orElse(List.of("-np", ranks));
    }

    @Override
    public String toString() {
        return shape.ranks() + " ranks" + hosts.map(list -> " on " + list).orElse("");
    }
}
