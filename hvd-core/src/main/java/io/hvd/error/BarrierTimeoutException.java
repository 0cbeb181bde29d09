package io.hvd.error;

/** Some ranks did not come to a barrier in time; the message names them. All ranks get it, the late ones too. */
public final class BarrierTimeoutException extends HvdException {
    private static final long serialVersionUID = 1L;

    /** With a message that names the ranks that did not come. */
    public BarrierTimeoutException(String message) {
        super(ErrorId.BARRIER_TIMEOUT, message);
    }

    private BarrierTimeoutException(BarrierTimeoutException original) {
        super(original);
    }

    @Override
    public BarrierTimeoutException seenHere() {
        return new BarrierTimeoutException(this);
    }
}
