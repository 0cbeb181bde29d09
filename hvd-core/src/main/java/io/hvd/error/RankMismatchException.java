package io.hvd.error;

/** Ranks asked for different things under one name; thrown on every rank, and the context stays usable. */
public final class RankMismatchException extends HvdException {
    private static final long serialVersionUID = 1L;

    /** With a message that names the tensor, the ranks and what each of them asked for. */
    public RankMismatchException(String message) {
        super(ErrorId.RANK_MISMATCH, message);
    }

    private RankMismatchException(RankMismatchException original) {
        super(original);
    }

    @Override
    public RankMismatchException seenHere() {
        return new RankMismatchException(this);
    }
}
