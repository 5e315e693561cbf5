/**
 * The shape of a relay that connects outwards: it dials the router replicas of a pool instead of
 * waiting for them. Interfaces only. Nothing implements them and no protocol is defined yet;
 * whether it becomes a push call or a reverse tunnel is open, and until then they may change.
 */
@NullMarked
package io.kvrelay.api.dialin;

import org.jspecify.annotations.NullMarked;
