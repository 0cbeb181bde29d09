package io.hvd.launch.options;

import io.hvd.config.Setting;

/** The effect of a flag of horovodrun. */
sealed interface FlagEffect {

    /** The launcher reads the flag itself. */
    record OfLauncher() implements FlagEffect {}

    /** The flag's value becomes the value of an environment variable of the ranks. */
    record ValueTo(Setting setting) implements FlagEffect {}

    /** The flag's value, in mebibytes, becomes the value of an environment variable of the ranks, in bytes. */
    record MebibytesTo(Setting setting) implements FlagEffect {}

    /** The flag sets an environment variable of the ranks to a fixed value. */
    record Constant(String variable, String value) implements FlagEffect {}

    /** The flag asks for what hvd does anyway, so it is accepted without a note. */
    record AsItIs() implements FlagEffect {}

    /** The flag is accepted and changes nothing; a note says why. */
    record NoEffect(Form form, String why) implements FlagEffect {}

    /** The flag ends horovodrun with an error before any rank is started. */
    record Refused(String why) implements FlagEffect {}

    /** The form that the value of a flag without effect must have; a value of another form is an error. */
    enum Form {
        NONE,
        NUMBER,
        /** From 0 to 1. */
        FRACTION,
        CORES
    }
}
