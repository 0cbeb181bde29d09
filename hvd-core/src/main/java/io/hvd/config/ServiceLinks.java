package io.hvd.config;

import java.util.Map;
import java.util.regex.Pattern;

/**
 * The variables by which Kubernetes tells every pod of the services in its namespace, and Docker a container of those
 * that it is linked with. Their names begin with the service's, so that a service called {@code hvd-tensorboard} sets
 * {@code HVD_TENSORBOARD_PORT}; whoever starts the job may not even know of it. Name and value must both have the form
 * of a link: a misspelt setting is none.
 */
final class ServiceLinks {
    private static final String NUMBER = "\\d{1,5}";
    private static final String PROTOCOL = "(?:tcp|udp|sctp)";
    private static final String URL = PROTOCOL + "://\\S+";

    /** The rest of a name behind the service's, and the value that goes with it. */
    private static final Map<Pattern, Pattern> FORMS = Map.of(
            Pattern.compile("_SERVICE_HOST"), Pattern.compile("\\S+"),
            Pattern.compile("_SERVICE_PORT(?:_[A-Z0-9_]+)?"), Pattern.compile(NUMBER),
            Pattern.compile("_PORT"), Pattern.compile(URL),
            Pattern.compile("_PORT_" + NUMBER + "_(?:TCP|UDP|SCTP)"), Pattern.compile(URL),
            Pattern.compile("_PORT_" + NUMBER + "_(?:TCP|UDP|SCTP)_PROTO"), Pattern.compile(PROTOCOL),
            Pattern.compile("_PORT_" + NUMBER + "_(?:TCP|UDP|SCTP)_PORT(?:_START|_END)?"), Pattern.compile(NUMBER),
            Pattern.compile("_PORT_" + NUMBER + "_(?:TCP|UDP|SCTP)_ADDR"), Pattern.compile("\\S+"));

    /** Docker's further two say nothing by themselves: its name for the link must be beside them. */
    private static final Pattern NAME_OR_VARIABLE = Pattern.compile("_(?:NAME|ENV_.*)");

    private static final Pattern DOCKERS_NAME = Pattern.compile("/[^/]+/[^/]+");

    private ServiceLinks() {}

    /** @param environment what else is set */
    static boolean isOne(String name, String value, Map<String, String> environment) {
        for (int end = name.indexOf('_'); end >= 0; end = name.indexOf('_', end + 1)) {
            if (isOne(name.substring(0, end), name.substring(end), value.strip(), environment)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isOne(String service, String rest, String value, Map<String, String> environment) {
        return FORMS.entrySet().stream()
                        .anyMatch(form -> form.getKey().matcher(rest).matches()
                                && form.getValue().matcher(value).matches())
                || NAME_OR_VARIABLE.matcher(rest).matches()
                        && DOCKERS_NAME
                                .matcher(environment.getOrDefault(service + "_NAME", ""))
                                .matches();
    }
}
