package io.hvd.launch;

import io.hvd.testing.NamespaceHosts;
import java.time.Duration;
import java.util.List;

/** A Java program that starts a job on two hosts and prints what it gets back; its argument is the key for ssh. */
final class TwoHostsCaller {
    private TwoHostsCaller() {}

    public static void main(String[] args) throws InterruptedException {
        List<String> results = HvdLauncher.ranks(2)
                .flags("-H", "node-a:1,node-b:1", "-p", NamespaceHosts.PORT, "-i", args[0])
                .limit(Duration.ofSeconds(60))
                .call(ScoreProgram.class, "score");
        for (int rank = 0; rank < results.size(); rank++) {
            System.out.println("result " + rank + ": " + results.get(rank));
        }
    }
}
