package io.kvrelay.cli;

import java.io.Console;
import java.lang.reflect.InvocationTargetException;

/** Whether somebody is watching. */
final class Terminal {
  private Terminal() {}

  /**
   * Whether standard input and output are a terminal.
   *
   * @return false if either is a file or a pipe
   */
  @SuppressWarnings("SystemConsoleNull") // the check for newer JDKs follows
  static boolean isAttached() {
    Console console = System.console();
    if (console == null) {
      return false;
    }
    try {
      // From JDK 22 on a console may exist without a terminal; this compiles against 17.
      return (boolean) Console.class.getMethod("isTerminal").invoke(console);
    } catch (NoSuchMethodException olderJdk) {
      return true;
    } catch (IllegalAccessException | InvocationTargetException e) {
      return false;
    }
  }
}
