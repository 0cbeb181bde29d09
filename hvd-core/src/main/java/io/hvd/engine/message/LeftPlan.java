package io.hvd.engine.message;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What the ranks keep of a static plan that they have left.
 *
 * @param cut the batches for the next plan of the same operations; an empty list of batches if they are to be found
 *     anew; empty to keep what is known
 * @param begunGroups names of the operations that the last step has carried out, by the name of their group, for groups
 *     that are not complete
 */
public record LeftPlan(Optional<List<List<String>>> cut, Map<String, Set<String>> begunGroups) {}
