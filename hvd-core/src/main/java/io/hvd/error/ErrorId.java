package io.hvd.error;

/** Fixed identifiers of error conditions, printed in front of every message so that they can be searched. */
public enum ErrorId {
    NOT_INITIALISED("HVD-101"),
    INIT_FAILED("HVD-102"),
    BAD_SETTING("HVD-103"),
    NO_OPEN_MPI("HVD-104"),
    MPI_JAR_MISMATCH("HVD-105"),
    MPI_LEVEL("HVD-106"),
    NO_DEVICE("HVD-107"),
    UNSUPPORTED("HVD-201"),
    BAD_ARGUMENT("HVD-202"),
    RANK_MISMATCH("HVD-301"),
    DUPLICATE_NAME("HVD-302"),
    SHUT_DOWN("HVD-303"),
    BACK_END("HVD-304"),
    BARRIER_TIMEOUT("HVD-305"),
    NOT_A_MEMBER("HVD-306"),
    UNKNOWN_PROCESS_SET("HVD-307"),
    DIFFERENT_SETTINGS("HVD-308"),
    UNEVEN_STEPS("HVD-309"),
    BUFFER_LIMIT("HVD-310"),
    OPTIMIZER_MISUSE("HVD-401"),
    STATE_MISMATCH("HVD-402"),
    DIVERGED("HVD-403"),
    NON_FINITE("HVD-404"),
    REPLICA_FAILED("HVD-405"),
    BAD_CHECKPOINT("HVD-501"),
    CHECKPOINT_NOT_WRITTEN("HVD-502"),
    NO_VALID_CHECKPOINT("HVD-503"),
    BAD_DATA_SET("HVD-511"),
    JOB_FAILED("HVD-601");

    private final String code;

    ErrorId(String code) {
        this.code = code;
    }

    /** The code that begins every message of this kind, such as HVD-303. */
    public String code() {
        return code;
    }
}
