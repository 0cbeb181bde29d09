package io.hvd.engine;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What is left of a static plan when the ranks have left it.
 *
 * @param cut the batches for the next plan of the same operations, of no batches if they are to be found anew; nothing to
 *     leave it at what is known
 * @param begunGroups the operations that have been carried out in the last step, by the name of a group of which others
 *     have not
 */
record LeftPlan(Optional<List<List<String>>> cut, Map<String, Set<String>> begunGroups) {}
