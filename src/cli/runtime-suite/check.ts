/** The runtime does not meet the case. */
export class CheckFailed extends Error {
  override readonly name = 'CheckFailed'
}

/** The runtime did nothing that the case could check: neither passed nor failed. */
export class NotShown extends Error {
  override readonly name = 'NotShown'
}

/** Throws `CheckFailed` unless the condition holds. */
export function check(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new CheckFailed(otherwise)
}

/** Throws `CheckFailed` unless both are equal as JSON. */
export function checkSame(actual: unknown, expected: unknown, what: string): void {
  const [actualText, expectedText] = [JSON.stringify(actual), JSON.stringify(expected)]
  check(actualText === expectedText, `${what}: ${actualText} instead of ${expectedText}`)
}
