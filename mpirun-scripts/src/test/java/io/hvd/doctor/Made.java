package io.hvd.doctor;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.hvd.doctor.checks.Check;
import io.hvd.doctor.checks.Finding;
import io.hvd.doctor.facts.Facts;
import io.hvd.doctor.facts.HostInventory;
import io.hvd.doctor.facts.HostInventory.Host;
import io.hvd.doctor.network.MeasuredLink;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;

/** Hosts as a test wants them: healthy ones, with single values changed. */
public final class Made {

    public static final long GIB = 1L << 30;
    private static final Gson GSON = new Gson();

    private static final String HEALTHY = """
            {"mpi": {"mpirun": "/usr/bin/mpirun", "version": "Open MPI 4.1.4", "obstacle": "", "unusable": "",
                     "daemon": "orted", "daemonPath": "/usr/bin/orted", "jar": "/lib/mpi.jar", "jarObstacle": "",
                     "bindings": true, "foreign": ""},
             "absent": [],
             "values": {"Java major version": "17", "Java version": "17.0.15 of Debian", "hvd version": "0.1.0",
                        "LibTorch version": "2.10.0"},
             "badSetting": "",
             "gpu": {"gpus": 2, "nccl": 22803, "obstacle": "",
                     "rows": [{"item": "GPU 0", "found": "H100, 0000:01:00.0, 80 GiB", "missing": ""}]},
             "memory": {"total": 68719476736, "heap": 4294967296, "direct": 134217728},
             "folders": {
                 "sharedMemory": {"path": "/dev/shm", "total": 4294967296, "free": 4294967296, "writable": true},
                 "temporary": {"path": "/tmp", "total": 4294967296, "free": 4294967296, "writable": true},
                 "cache": {"path": "/home/me", "total": 4294967296, "free": 4294967296, "writable": true}},
             "limits": {"openFiles": 65536, "processes": -1, "lockedMemory": -1, "cores": 8, "fabric": ""},
             "names": {"hostname": "NAME", "machine": "machine NAME",
                       "resolved": {"a": ["10.0.0.1"], "b": ["10.0.0.2"], "c": ["10.0.0.3"]}},
             "network": {"interfaces": [{"name": "eth0", "addresses": ["10.0.0.1"]}, {"name": "lo", "addresses": []}],
                         "used": ["eth0"], "ports": []}}
            """;

    private Made() {}

    /** @param changes such as {@code limits.openFiles=100}; the value is JSON */
    static Facts facts(String name, String... changes) {
        JsonObject all = GSON.fromJson(HEALTHY.replace("NAME", name), JsonObject.class);
        for (String change : changes) {
            int equals = change.indexOf('=');
            List<String> path = Arrays.asList(change.substring(0, equals).split("\\."));
            JsonObject parent = all;
            for (String step : path.subList(0, path.size() - 1)) {
                parent = parent.getAsJsonObject(step);
            }
            parent.add(path.get(path.size() - 1), GSON.fromJson(change.substring(equals + 1), JsonElement.class));
        }
        return GSON.fromJson(all, Facts.class);
    }

    /** A host of two ranks; that called a is this one. */
    public static Host host(String name, String... changes) {
        return host(2, name, changes);
    }

    public static Host host(int ranks, String name, String... changes) {
        return new Host(name, ranks, name.equals("a"), facts(name, changes));
    }

    public static HostInventory inventory(Host... hosts) {
        return new HostInventory(List.of(hosts), List.of(), OptionalLong.empty(), GIB, "", "ssh -p 2222");
    }

    public static HostInventory inventory(List<MeasuredLink> links, Host... hosts) {
        return new HostInventory(List.of(hosts), links, OptionalLong.empty(), GIB, "", "ssh -p 2222");
    }

    public static MeasuredLink link(String from, String to, double micros, double bytesPerSecond, double aheadMicros) {
        return new MeasuredLink(from, to, "eth0", "10.0.0.9", "", micros, bytesPerSecond, aheadMicros);
    }

    public static List<Finding> findings(HostInventory inventory) {
        return Check.ALL.stream()
                .flatMap(check -> check.findings(inventory).stream())
                .toList();
    }
}
