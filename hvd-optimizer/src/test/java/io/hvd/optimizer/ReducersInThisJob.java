package io.hvd.optimizer;

import io.hvd.Hvd;
import io.hvd.RankBody;

/** hvd's own reducers inside a rank of a job, under mpirun. */
final class ReducersInThisJob extends ReducerAverages {
    @Override
    void onAll(RankBody<Void> body) throws Exception {
        body.run(Hvd.context());
    }
}
