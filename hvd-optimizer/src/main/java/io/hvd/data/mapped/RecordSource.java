package io.hvd.data.mapped;

/** Makes the records of a data set. */
@FunctionalInterface
public interface RecordSource {
    /**
     * Adds every record, in order; called on one rank of each host that lacks the file.
     *
     * @throws Exception whatever reading may throw; all ranks are told
     */
    void writeTo(RecordWriter records) throws Exception;
}
