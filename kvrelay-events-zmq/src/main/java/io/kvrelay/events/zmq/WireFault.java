package io.kvrelay.events.zmq;

/**
 * Ends the decoding of a message or of an event. One instance for each reason, without a stack
 * trace: bad input may come as fast as good input, and must not cost more.
 */
@SuppressWarnings("EnumOrdinal") // the arrays live no longer than the enum
final class WireFault extends Exception {
  private static final long serialVersionUID = 1L;
  private static final WireFault[] FAULTS = faults();

  private final Refusal refusal;

  private WireFault(Refusal refusal) {
    super(refusal.label(), null, false, false);
    this.refusal = refusal;
  }

  private static WireFault[] faults() {
    Refusal[] refusals = Refusal.values();
    WireFault[] faults = new WireFault[refusals.length];
    for (Refusal refusal : refusals) {
      faults[refusal.ordinal()] = new WireFault(refusal);
    }
    return faults;
  }

  static WireFault of(Refusal refusal) {
    return FAULTS[refusal.ordinal()];
  }

  Refusal refusal() {
    return refusal;
  }

  /** Whether the rest of the message cannot be read either. */
  boolean spoilsMessage() {
    return refusal.compareTo(Refusal.NOT_AN_EVENT) < 0;
  }
}
