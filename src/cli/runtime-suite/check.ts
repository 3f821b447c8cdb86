/** The runtime does not do what the case asks for. */
export class CheckFailed extends Error {
  override readonly name = 'CheckFailed'
}

/** Nothing came that the case could look at: neither passed nor failed. */
export class NotShown extends Error {
  override readonly name = 'NotShown'
}

/** Throws `CheckFailed` unless the condition holds. */
export function check(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new CheckFailed(otherwise)
}

/** Throws `CheckFailed` unless both are the same as JSON. */
export function checkSame(actual: unknown, expected: unknown, what: string): void {
  const [is, wanted] = [JSON.stringify(actual), JSON.stringify(expected)]
  check(is === wanted, `${what}: ${is} instead of ${wanted}`)
}
