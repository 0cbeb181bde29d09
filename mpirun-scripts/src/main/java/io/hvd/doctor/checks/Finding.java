package io.hvd.doctor.checks;

import java.util.List;

/**
 * One thing that is not as it should be, on some hosts.
 *
 * @param found what was seen, with the values
 * @param command the one thing to run, or to run again with another value
 */
public record Finding(Diagnosis diagnosis, List<String> hosts, String found, String command) {

    public Finding {
        hosts = List.copyOf(hosts);
    }
}
