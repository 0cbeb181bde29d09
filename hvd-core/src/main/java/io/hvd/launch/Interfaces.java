package io.hvd.launch;

import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * Which network interfaces do not lead from host to host: the loopback, and the bridges that containers and
 * virtual machines use inside their host. Their addresses are the same on every host, so that a connection to
 * one goes to the wrong machine or nowhere.
 */
public final class Interfaces {

    private static final Pattern INSIDE = Pattern.compile("lo|docker\\d+|virbr.*|br-[0-9a-f]{12}|veth.*|lxcbr\\d+"
            + "|lxdbr\\d+|vboxnet\\d+|vmnet\\d+|cni\\d+|podman\\d+|cali.*|cilium_.*|kube-ipvs\\d+");

    /** Left out even where they are not seen, since another host may have them. */
    private static final List<String> COMMON = List.of("lo", "docker0", "virbr0");

    private Interfaces() {}

    /** Those to leave out, in order. */
    public static List<String> leftOut(Collection<String> present) {
        var names = new TreeSet<>(COMMON);
        present.stream().filter(name -> INSIDE.matcher(name).matches()).forEach(names::add);
        return List.copyOf(names);
    }

    /** Those that remain. */
    public static List<String> used(Collection<String> present) {
        return present.stream()
                .filter(name -> !INSIDE.matcher(name).matches())
                .sorted()
                .toList();
    }

    /** Names of a list that a host has not; networks such as 10.0.0.0/8 are not looked at, nor what follows a colon. */
    static List<String> missing(String asked, Collection<String> present) {
        return Arrays.stream(asked.split(","))
                .filter(name -> !name.contains("/"))
                .filter(name -> !present.contains(name.replaceFirst(":.*", "")))
                .toList();
    }
}
