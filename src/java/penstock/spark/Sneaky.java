package penstock.spark;

/** Exceptions as Scala throws them: Spark's interfaces for Java do not know that the calls may fail so. */
final class Sneaky {
  private Sneaky() {}

  /** Throws; the result is for {@code throw}, so that the compiler knows. */
  @SuppressWarnings("unchecked")
  static <E extends Throwable> E thrown(Throwable error) throws E {
    throw (E) error;
  }
}
