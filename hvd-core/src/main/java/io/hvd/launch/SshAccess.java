package io.hvd.launch;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** How the other hosts are reached: the port and the key that the user has named. */
record SshAccess(Optional<Integer> port, Optional<String> identity) {

    /** For ssh, and for an mpirun that calls it. */
    List<String> words() {
        List<String> words = new ArrayList<>();
        port.ifPresent(number -> words.addAll(List.of("-p", number.toString())));
        identity.ifPresent(file -> words.addAll(List.of("-i", file)));
        return words;
    }
}
