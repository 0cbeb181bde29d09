package io.hvd.contract;

import io.hvd.Hvd;
import io.hvd.RankBody;

/** Where a test's ranks come from: threads of this JVM, or the processes of the job that it runs in. */
interface Ranks {
    void run(RankBody<?> body) throws Exception;

    static Ranks threads(int size) {
        return body -> Hvd.spawn(size, body);
    }

    static Ranks ofThisJob() {
        return body -> body.run(Hvd.context());
    }
}
