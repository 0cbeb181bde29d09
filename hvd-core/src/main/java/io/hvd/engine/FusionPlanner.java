package io.hvd.engine;

import java.util.ArrayList;
import java.util.List;

/**
 * Puts operations that may share one buffer together, in the order in which they became ready,
 * looking past those that do not fit. A pure function, so that a plan can be tested as a value.
 */
final class FusionPlanner {
    private FusionPlanner() {}

    /**
     * @param ready agreed allreduces and broadcasts
     * @param thresholdBytes most that a fused batch may carry; a single larger operation still runs
     *     alone, and with 0 all do
     */
    static List<Plan.Batch> fuse(List<Request> ready, long thresholdBytes) {
        List<Open> open = new ArrayList<>();
        for (Request request : ready) {
            Open batch = open.stream()
                    .filter(candidate -> candidate.takes(request, thresholdBytes))
                    .findFirst()
                    .orElse(null);
            if (batch == null) {
                batch = new Open(request, new ArrayList<>());
                open.add(batch);
            }
            batch.add(request);
        }
        return open.stream().map(batch -> Plan.Batch.run(batch.names)).toList();
    }

    private static final class Open {
        private final Request first;
        private final List<String> names;
        private long bytes;

        Open(Request first, List<String> names) {
            this.first = first;
            this.names = names;
        }

        boolean takes(Request request, long thresholdBytes) {
            return thresholdBytes > 0 && first.fusesWith(request) && bytes + request.wireBytes() <= thresholdBytes;
        }

        void add(Request request) {
            names.add(request.name());
            bytes += request.wireBytes();
        }
    }
}
