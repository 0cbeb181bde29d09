package io.hvd.launch.hosts;

import io.hvd.file.RegularFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads hosts and slots in the forms of Open MPI and of resource managers, leniently: mpirun itself will complain. */
final class HostWords {

    private static final Pattern SLOTS = Pattern.compile("\\bslots\\s*=\\s*(\\d{1,7})\\b");

    private HostWords() {}

    /** The hosts of a hostfile of Open MPI. */
    static List<HostSlots> ofHostfile(String file) {
        return read(file, HostWords::line);
    }

    /** A file that cannot be read says nothing of the hosts; mpirun will name it. What is in a pipe is there once, for mpirun. */
    static List<HostSlots> read(String file, Function<String, HostSlots> reading) {
        try {
            List<HostSlots> found = new ArrayList<>();
            for (String line : Files.readAllLines(RegularFile.at(Path.of(file)))) {
                String said = line.split("#", 2)[0].strip();
                if (!said.isEmpty()) {
                    found.add(reading.apply(said));
                }
            }
            return merged(found);
        } catch (IOException | RuntimeException e) {
            return List.of();
        }
    }

    /** The hosts of a list such as {@code a:2,b}. */
    static List<HostSlots> ofList(String hosts) {
        List<HostSlots> found = new ArrayList<>();
        for (String one : hosts.split(",")) {
            String[] parts = one.strip().split(":", 2);
            // In such a list a bare name is one slot.
            found.add(new HostSlots(parts[0], parts.length < 2 ? 1 : slots(parts[1])));
        }
        return merged(found);
    }

    static HostSlots line(String line) {
        Matcher slots = SLOTS.matcher(line);
        String[] host = firstWord(line).split(":", 2);
        return new HostSlots(
                host[0],
                slots.find() ? Integer.parseInt(slots.group(1)) : host.length < 2 ? HostSlots.UNKNOWN : slots(host[1]));
    }

    static HostSlots slotPerLine(String line) {
        return new HostSlots(firstWord(line), 1);
    }

    static HostSlots gridEngine(String line) {
        String[] words = line.split("\\s+");
        return new HostSlots(words[0], words.length < 2 ? HostSlots.UNKNOWN : slots(words[1]));
    }

    private static String firstWord(String line) {
        return line.split("\\s+")[0].replaceFirst("^.*@", "");
    }

    private static int slots(String number) {
        return number.matches("\\d{1,7}") ? Integer.parseInt(number) : HostSlots.UNKNOWN;
    }

    private static List<HostSlots> merged(List<HostSlots> hosts) {
        if (hosts.isEmpty()) {
            return hosts;
        }
        Map<String, Integer> slots = new LinkedHashMap<>();
        hosts.forEach(host -> slots.merge(
                host.host(),
                host.slots(),
                (some, more) ->
                        some == HostSlots.UNKNOWN || more == HostSlots.UNKNOWN ? HostSlots.UNKNOWN : some + more));
        return slots.entrySet().stream()
                .map(one -> new HostSlots(one.getKey(), one.getValue()))
                .toList();
    }
}
