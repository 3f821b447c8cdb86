/** The value of a JSON text, or `otherwise` when it is none. */
export function jsonOr(text: string, otherwise: unknown): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Strangers' text: the caller decides what it means.
    return otherwise
  }
}
