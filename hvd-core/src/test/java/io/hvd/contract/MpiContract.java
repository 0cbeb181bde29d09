package io.hvd.contract;

/** The contract inside a rank of a job; {@link MpiContractIT} starts it under mpirun. */
final class MpiContract extends CollectiveContract {
    @Override
    Ranks ranks() {
        return Ranks.ofThisJob();
    }
}
